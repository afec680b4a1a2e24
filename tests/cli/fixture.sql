-- SPDX-License-Identifier: MIT
-- The recording all golden cases read, on top of `memtracer schema`. Run 1 was cut off after two
-- samples and carries hostile names. Run 2 lasts a minute: three commands each keep a block of
-- 54,280,192 bytes of heap, at 10, 25 and 40 s, just after marks; a library is unloaded at 20 s.
PRAGMA application_id = 1836348003;
PRAGMA user_version = 1;

INSERT OR IGNORE INTO type(id, name, description) VALUES
    (1, 'image', 'programs and libraries, as the loader mapped them'),
    (2, 'mapped_file', 'other mapped files'),
    (3, 'shareable', 'shared memory without a file on disk'),
    (4, 'heap', 'malloc''s memory, used and kept'),
    (5, 'managed_heap', 'garbage-collected heaps and JIT code'),
    (6, 'stack', 'thread stacks with their guard pages'),
    (7, 'private', 'private memory that nobody claimed'),
    (8, 'device', 'device windows, not memory on the device; rings shared with the kernel'),
    (9, 'page_table', 'the kernel''s page tables for this process'),
    (10, 'unusable', 'address space lost: guards of unknown owner, gaps'),
    (11, 'free', 'address space that is not mapped'),
    (12, 'tracer', 'memtracer''s own memory'),
    (32, 'textures', 'decoded textures' || char(27) || '[31m');

INSERT OR IGNORE INTO sample_flag(bit, name, description) VALUES
    (32, 'gap', 'before it nothing was seen for a while'),
    (512, 'explicit', 'asked for');

INSERT OR IGNORE INTO setting(name, value, description) VALUES
    ('min_step_bytes', 65536, ''), ('min_step_permille', 250, ''), ('min_steps', 3, ''),
    ('min_share_permille', 600, ''), ('plateau_permille', 500, ''),
    ('min_growth_bytes', 1048576, ''), ('thin_after_samples', 100000, '');

INSERT INTO run(id, uuid, label, state, state_detail, host, os, pid, parent_pid, recorder_pid, exe, name,
                allocator, start_wall_ns, start_monotonic_ns, stop_wall_ns, process_start_ns,
                page_bytes, interval_ms, commit_ms, budget_ns, flags, max_file_bytes,
                host_memory_bytes, cgroup_limit_bytes, address_limit_bytes, data_limit_bytes,
                max_regions, version, sqlite_version)
VALUES
    (1, '00000000-0000-4000-8000-000000000001',
     'evil' || char(27) || '[31m' || char(10) || '"quoted" ' || char(8238) || 'txt', 'interrupted',
     'its process was gone', 'box', 'Linux 6.1.0 x86_64', 100, 1, 100, '/usr/bin/evil', 'evil', '',
     strftime('%s', '2026-11-29 11:00:00') * 1000000000, 5000000000, NULL, NULL,
     4096, 1000, 1000, 10000000, 5, NULL, NULL, NULL, NULL, NULL, NULL, '0.1.0', '3.40.1'),
    (2, '00000000-0000-4000-8000-000000000002', 'server', 'stopped', '', 'box',
     'Linux 6.1.0 x86_64', 4242, 1, 4242, '/usr/bin/server', 'server', 'glibc 2.36',
     strftime('%s', '2026-11-29 12:00:00') * 1000000000, 3605000000000,
     strftime('%s', '2026-11-29 12:01:00') * 1000000000, NULL,
     4096, 1000, 1000, 10000000, 0, 1073741824, 8589934592, 2147483648, NULL, NULL, 65530,
     '0.1.0', '3.40.1');

INSERT INTO sample(id, run, t_ns, wall_ns, until_ns, ticks, missed, depth, flags, regions,
                   cost_wall_ns, cost_cpu_ns, own_bytes)
SELECT n.id, r.id, n.t * 1000000000, r.start_wall_ns + n.t * 1000000000,
       (n.t + 1) * 1000000000 - 500000000, 1, 0, 4,
       CASE n.id WHEN 1 THEN 512 WHEN 3 THEN 512 WHEN 33 THEN 32 ELSE 0 END, 9,
       400000, 300000, 1048576
FROM (WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c WHERE id < 62)
      SELECT id, iif(id < 3, 1, 2) AS run, iif(id < 3, id - 1, id - 3) AS t FROM c) n
JOIN run r ON r.id = n.run;

-- run 1: two types, resident bytes unknown
INSERT INTO level(run, type, sample, size, committed, blocks, largest) VALUES
    (1, 4, 1, 1048576, 524288, 1, 1048576), (1, 11, 1, 140737487306752, NULL, 2, 140000000000000),
    (1, 4, 2, 2097152, 1048576, 1, 2097152);

-- run 2, its first sample
INSERT INTO level(run, type, sample, size, committed, charged, private, ws, ws_private,
                  ws_shareable, ws_shared, pss, swap, locked, huge, lazy_free, blocks, largest)
VALUES
    (2, 1, 3, 4202496, 4202496, 204800, 204800, 3145728, 204800, 2940928, 2097152, 1048576, 0, 0, 0, 0, 5, 2105344),
    (2, 2, 3, 16777216, 16777216, 0, 0, 8388608, 0, 8388608, 0, 8388608, 0, 0, 0, 0, 1, 16777216),
    (2, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (2, 4, 3, 10485760, 10485760, 10485760, 8388608, 8388608, 8388608, 0, 0, 8388608, 0, 0, 0, 0, 1, 10485760),
    (2, 5, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (2, 6, 3, 8388608, 8384512, 135168, 65536, 65536, 65536, 0, 0, 65536, 0, 0, 0, 0, 2, 8384512),
    (2, 7, 3, 1048576, 1048576, 1048576, 524288, 524288, 524288, 0, 0, 524288, 0, 0, 0, 0, 1, 1048576),
    (2, 8, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (2, 9, 3, NULL, NULL, NULL, 131072, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (2, 10, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (2, 11, 3, 140737446404096, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 8, 140000000000000),
    (2, 12, 3, 1048576, 1048576, 1048576, 524288, 524288, 524288, 0, 0, 524288, 0, NULL, 0, 0, 1, 1048576);

-- heap: a kept block of 54,280,192 bytes after each command, seen at 10, 25, 40 s
INSERT INTO level
SELECT 2, 4, s.sample, 10485760 + s.n * 54280192, 10485760 + s.n * 54280192,
       10485760 + s.n * 54280192, 8388608 + s.n * 54280192, 8388608 + s.n * 54280192,
       8388608 + s.n * 54280192, 0, 0, 8388608 + s.n * 54280192, 0, 0, 0, 0, 1,
       10485760 + s.n * 54280192
FROM (SELECT 13 AS sample, 1 AS n UNION ALL SELECT 28, 2 UNION ALL SELECT 43, 3) s;

-- private: a burst of 30 MiB at 30 s, given back at 31 s
INSERT INTO level
SELECT 2, 7, s.sample, s.bytes, s.bytes, s.bytes, s.bytes, s.bytes, s.bytes, 0, 0, s.bytes, 0, 0,
       0, 0, 1, s.bytes
FROM (SELECT 33 AS sample, 31457280 AS bytes UNION ALL SELECT 34, 1048576) s;

-- image: libgone.so goes at 20 s
INSERT INTO level VALUES (2, 1, 23, 2105344, 2105344, 102400, 102400, 1572864, 102400, 1470464,
                          1048576, 524288, 0, 0, 0, 0, 3, 2105344);

INSERT INTO string(id, text) VALUES
    (1, '/usr/bin/server'), (2, '/usr/lib/libgone.so'),
    (3, '/tmp/' || char(27) || ']0;owned' || char(7) || char(10) || '"x"'), (4, 'main arena'),
    (5, 'thread main'), (6, 'a' || char(8238) || 'b' || char(9) || 'ü'), (7, 'memtracer');

INSERT INTO region(id, run, first_sample, last_sample, continues, base, bytes, type, protection,
                   flags, file, offset, inode, owner, thread, confidence, ws, swap) VALUES
    (1, 2, 3, NULL, NULL, 0x555555554000, 8192, 1, 1, 2, 1, 0, 77, NULL, NULL, 'A', 8192, 0),
    (2, 2, 3, NULL, NULL, 0x555555556000, 1994752, 1, 5, 2, 1, 8192, 77, NULL, NULL, 'A', 1460000, 0),
    (3, 2, 3, NULL, NULL, 0x55555573d000, 102400, 1, 3, 2, 1, 2002944, 77, NULL, NULL, 'A', 102400, 0),
    (4, 2, 3, 22, NULL, 0x7f0000000000, 2097152, 1, 5, 2, 2, 0, 78, NULL, NULL, 'A', 1572864, 0),
    (5, 2, 3, 12, NULL, 0x555556000000, 10485760, 4, 3, 0, NULL, 0, NULL, 4, NULL, 'A', 8388608, 0),
    (6, 2, 13, 27, 5, 0x555556000000, 64765952, 4, 3, 0, NULL, 0, NULL, 4, NULL, 'A', 62668800, 0),
    (7, 2, 28, 42, 6, 0x555556000000, 119046144, 4, 3, 0, NULL, 0, NULL, 4, NULL, 'A', 116948992, 0),
    (8, 2, 43, NULL, 7, 0x555556000000, 173326336, 4, 3, 0, NULL, 0, NULL, 4, NULL, 'A', 171229184, 0),
    (9, 2, 3, NULL, NULL, 0x7f0000400000, 16777216, 2, 1, 2, 3, 0, 79, NULL, NULL, 'B', 8388608, 0),
    (10, 2, 3, NULL, NULL, 0x7fffff800000, 4096, 6, 0, 4, NULL, 0, NULL, 5, 4242, 'A', 0, 0),
    (11, 2, 3, NULL, NULL, 0x7fffff801000, 8384512, 6, 3, 0, NULL, 0, NULL, 5, 4242, 'A', 65536, 0),
    (12, 2, 3, 32, NULL, 0x7f0004000000, 1048576, 7, 3, 0, NULL, 0, NULL, 6, NULL, 'C', 524288, 0),
    (13, 2, 33, 33, 12, 0x7f0004000000, 31457280, 7, 3, 0, NULL, 0, NULL, 6, NULL, 'C', 31457280, 0),
    (14, 2, 34, NULL, 13, 0x7f0004000000, 1048576, 7, 3, 0, NULL, 0, NULL, 6, NULL, 'C', 1048576, 0),
    (15, 2, 3, NULL, NULL, 0x7f0008000000, 1048576, 12, 3, 0, NULL, 0, NULL, 7, NULL, 'A', 524288, 0);

INSERT INTO module(id, run, first_sample, last_sample, base, bytes, path, build_id) VALUES
    (1, 2, 3, NULL, 0x555555554000, 2105344, 1, 'aa'),
    (2, 2, 3, 22, 0x7f0000000000, 2097152, 2, 'bb');

INSERT INTO mark(id, run, sample, t_ns, wall_ns, tid, label)
SELECT m.id, m.run, m.sample, m.t, r.start_wall_ns + m.t, r.pid, m.label
FROM (SELECT 1 AS id, 1 AS run, 1 AS sample, 500000000 AS t,
             char(27) || '[2Jcleared' || char(10) AS label UNION ALL
      SELECT 2, 2, 12, 9900000000, 'command' UNION ALL
      SELECT 3, 2, 27, 24900000000, 'command' UNION ALL
      SELECT 4, 2, 42, 39900000000, 'command' UNION ALL
      SELECT 5, 2, 57, 54200000000, 'done') m
JOIN run r ON r.id = m.run;
