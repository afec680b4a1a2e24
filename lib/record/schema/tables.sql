-- memtracer file, schema 1. PRAGMA application_id = 0x6d747263 ('mtrc'), user_version = 1.
-- Conventions: bytes unless a column says otherwise; NULL is unknown, never 0; t_ns is monotonic
-- time since the run's start, wall_ns is nanoseconds since 1970; addresses are 64-bit and stored
-- as SQLite's signed integers (an address of 2^63 or more reads negative).

-- One start of a tracer to its stop. Several runs may share a file, one after another.
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    uuid TEXT NOT NULL,               -- of this run, random
    label TEXT NOT NULL,              -- options.label, else the program's name
    state TEXT NOT NULL,              -- recording, degraded, suspended, stopped, ended, interrupted
    state_detail TEXT NOT NULL DEFAULT '', -- sentences: what was lost on the way, how it ended
    host TEXT NOT NULL,               -- host name
    os TEXT NOT NULL,                 -- system, release, machine
    pid INTEGER NOT NULL,             -- the watched process
    parent_pid INTEGER,
    recorder_pid INTEGER NOT NULL,    -- the process that writes: the watched one, or its watcher
    recorder_start_ns INTEGER,        -- wall clock; tells apart a reused pid
    exe TEXT NOT NULL,                -- its program file
    name TEXT NOT NULL,               -- its short name
    allocator TEXT NOT NULL DEFAULT '', -- who serves malloc: glibc, jemalloc, musl …
    start_wall_ns INTEGER NOT NULL,
    start_monotonic_ns INTEGER NOT NULL, -- of the host's monotonic clock: t_ns counts from here
    stop_wall_ns INTEGER,             -- NULL while recording, or when it was cut off
    process_start_ns INTEGER,         -- wall clock
    page_bytes INTEGER NOT NULL,
    interval_ms INTEGER NOT NULL,
    commit_ms INTEGER NOT NULL,
    budget_ns INTEGER NOT NULL,       -- CPU time a tick aims at
    flags INTEGER NOT NULL,           -- TRACER_F_… of the options
    max_file_bytes INTEGER,           -- NULL = no cap
    host_memory_bytes INTEGER,        -- limits, each NULL when there is none or it is unknown
    cgroup_limit_bytes INTEGER,
    address_limit_bytes INTEGER,      -- RLIMIT_AS
    data_limit_bytes INTEGER,         -- RLIMIT_DATA
    max_regions INTEGER,              -- vm.max_map_count
    version TEXT NOT NULL,            -- memtracer that wrote the run
    sqlite_version TEXT NOT NULL
) STRICT;

-- One moment at which something had changed. Ticks that saw no change extend the row before
-- (until_ns, ticks), so a quiet process costs nothing.
CREATE TABLE sample (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run(id),
    t_ns INTEGER NOT NULL,
    wall_ns INTEGER NOT NULL,
    until_ns INTEGER NOT NULL,        -- t_ns of the last tick with these same values
    ticks INTEGER NOT NULL,           -- ticks in this row, 1 or more; 0 = a thinned summary
    missed INTEGER NOT NULL,          -- ticks before it whose moment passed unused
    depth INTEGER NOT NULL,           -- 0 counters, 1 list, 2 pages, 3 whole, 4 full
    flags INTEGER NOT NULL,           -- bits, table sample_flag; 0 = perfect
    regions INTEGER,                  -- mappings as the OS listed them last
    cost_wall_ns INTEGER,             -- what the ticks of this row cost: time …
    cost_cpu_ns INTEGER,              -- … CPU time of the sampler thread, user + system …
    own_bytes INTEGER NOT NULL        -- … and address space the tracer had reserved
) STRICT;
CREATE INDEX sample_by_time ON sample(run, t_ns);

-- The words for the bits of sample.flags.
CREATE TABLE sample_flag (
    bit INTEGER PRIMARY KEY,          -- value of the bit
    name TEXT NOT NULL,
    description TEXT NOT NULL
) STRICT;

-- The rows of the table of memory: built in, and the host's own (id 32 and above).
CREATE TABLE type (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL DEFAULT ''
) STRICT;

-- The values of one type from this sample on. Only the types that changed in a sample have a
-- row; the first sample of a run has all. View `delta` shows the differences.
CREATE TABLE level (
    run INTEGER NOT NULL,
    type INTEGER NOT NULL REFERENCES type(id),
    sample INTEGER NOT NULL REFERENCES sample(id),
    size INTEGER,                     -- address space
    committed INTEGER,                -- accessible, less guard pages
    charged INTEGER,                  -- counts against the commit limit
    private INTEGER,                  -- private resident plus swapped
    ws INTEGER,                       -- resident
    ws_private INTEGER,               -- resident, anonymous
    ws_shareable INTEGER,             -- resident, file or shared memory
    ws_shared INTEGER,                -- of those, mapped more than once now
    pss INTEGER,                      -- resident, divided by mappings
    swap INTEGER,                     -- swapped out
    locked INTEGER,                   -- resident and locked
    huge INTEGER,                     -- resident in huge pages
    lazy_free INTEGER,                -- resident, given back lazily
    blocks INTEGER,                   -- regions, a count
    largest INTEGER,                  -- longest run of this type
    PRIMARY KEY (run, type, sample)
) STRICT, WITHOUT ROWID;

-- Names of files, owners, labels, threads: each once.
CREATE TABLE string (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

-- A typed piece of address space and its interval of life. When it grows, shrinks or changes
-- protection a new row begins whose `continues` names the old one.
CREATE TABLE region (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run(id),
    first_sample INTEGER NOT NULL,    -- first sample that saw it
    last_sample INTEGER,              -- last sample that saw it; NULL = alive at the end
    continues INTEGER,                -- region.id of the row before, NULL = new
    base INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    type INTEGER NOT NULL REFERENCES type(id),
    protection INTEGER NOT NULL,      -- bits: 1 read, 2 write, 4 execute
    flags INTEGER NOT NULL,           -- bits: 1 shared, 2 file, 4 guard, 8 reserved, 16 cached
                                      -- stack, 32 hugetlb, 64 device, 128 its file is deleted,
                                      -- 256 committed whatever its protection (Windows),
                                      -- of images: 512 relro, 1024 zero-initialised data;
                                      -- 2048 what happened is not told by the row it continues but
                                      -- by 4096 grew, 8192 shrank, 16384 other rights;
                                      -- 32768 its memory went on as a part of other rows
    file INTEGER REFERENCES string(id), -- path or label, NULL = nameless
    offset INTEGER NOT NULL,          -- in the file
    inode INTEGER,
    owner INTEGER REFERENCES string(id), -- who owns it, in words; NULL = nobody known
    thread INTEGER,                   -- OS thread id of a stack, else NULL
    confidence TEXT NOT NULL,         -- of the type: A certain, B very likely, C heuristic
    ws INTEGER,                       -- resident when all pages were last counted
    swap INTEGER,                     -- swapped out at that time
    private INTEGER,                  -- of ws, what is in no file: written or relocated
    relocated INTEGER,                -- of private, data of an image: pages as the loader left them
    written INTEGER                   -- … and those written since; both as of the last sample that
                                      -- was asked for, NULL = not found out
) STRICT;
CREATE INDEX region_by_run ON region(run, first_sample);
CREATE INDEX region_by_end ON region(run, last_sample) WHERE last_sample IS NOT NULL;

-- Programs and libraries with their interval of life.
CREATE TABLE module (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run(id),
    first_sample INTEGER NOT NULL,
    last_sample INTEGER,              -- last sample that saw it; NULL = loaded at the end
    base INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    path INTEGER NOT NULL REFERENCES string(id),
    build_id TEXT                     -- hexadecimal, NULL = none or unknown
) STRICT;
CREATE INDEX module_by_run ON module(run, first_sample);
CREATE INDEX module_by_end ON module(run, last_sample) WHERE last_sample IS NOT NULL;

-- Threads with their interval of life and their stack.
CREATE TABLE thread (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run(id),
    first_sample INTEGER NOT NULL,
    last_sample INTEGER,
    tid INTEGER NOT NULL,
    name INTEGER REFERENCES string(id),
    stack_base INTEGER,               -- lowest address, guard included; NULL = unknown
    stack_bytes INTEGER,              -- guard included
    guard_bytes INTEGER
) STRICT;
CREATE INDEX thread_by_run ON thread(run, first_sample);
CREATE INDEX thread_by_end ON thread(run, last_sample) WHERE last_sample IS NOT NULL;

-- What the host said with tracer_mark().
CREATE TABLE mark (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run(id),
    sample INTEGER,                   -- the last sample before it, NULL = none yet
    t_ns INTEGER NOT NULL,
    wall_ns INTEGER NOT NULL,
    tid INTEGER NOT NULL,             -- the thread that called
    label TEXT NOT NULL
) STRICT;
CREATE INDEX mark_by_time ON mark(run, t_ns);

-- Names and units of the counters.
CREATE TABLE counter_kind (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    unit TEXT NOT NULL,
    description TEXT NOT NULL
) STRICT;

-- Process and allocator counters from this sample on; a row only where the value changed.
CREATE TABLE counter (
    run INTEGER NOT NULL,
    counter INTEGER NOT NULL REFERENCES counter_kind(id),
    sample INTEGER NOT NULL,
    value INTEGER,                    -- NULL = unknown from here on
    PRIMARY KEY (run, counter, sample)
) STRICT, WITHOUT ROWID;

-- Parameters of the views; a user may UPDATE them.
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL,
    description TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- How far retention has come. Tier 0 are the newest samples, untouched. When it is full its oldest
-- bucket (512 samples of a run at most) is thinned and moves into tier 1, and so on: the older, the
-- thinner; the last tier is thinned into itself, so their number is bounded. Of a bucket stay the
-- first and the last sample and those with the most and the least held, the most committed and the
-- two largest rises of a type (with the sample before each), at marks and where a sample was asked
-- for. What goes is folded into what stays: values of type and counter move to the next sample that
-- stays, so that they are exact there; ticks and costs add up; a life of a region, module or thread
-- that no sample sees any more goes; names without a user go. Beyond keep_marks the older marks
-- with no sample between them, and then every second one, go.
-- Exact events beyond keep_events go, the oldest first, and with them the stacks, frames and code
-- that no event names any more; table event_loss counts them.
-- max_file_bytes takes the oldest events first, then makes the tiers smaller, and where that is not
-- enough, ended threads and modules go, the oldest first.
-- A bucket is a range of rows in sample (key), level, counter (key: run, kind, sample) and of the
-- indexes by_run, by_end and mark_by_time: thinning never reads what it does not rewrite.
CREATE TABLE tier (
    id INTEGER PRIMARY KEY,           -- 1 and above
    upto INTEGER NOT NULL             -- its newest sample; its oldest follows the next tier's
) STRICT;

-- Exact events, recorded on request only (TRACER_F_STACKS, memtracer run --stacks): each call
-- that changed memory, with its stack. Empty elsewhere.

-- What the calls are. effect: TAKE (address, bytes), GIVE, MOVE (old to new), NONE.
CREATE TABLE event_kind (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    effect TEXT NOT NULL
) STRICT;

-- Files that code came from, as they were: a path may hold another build later.
CREATE TABLE code (
    id INTEGER PRIMARY KEY,
    path INTEGER NOT NULL REFERENCES string(id), -- '' = code without a file
    build_id TEXT NOT NULL,           -- hexadecimal, '' = none or unknown
    UNIQUE (path, build_id)
) STRICT;

-- Return addresses, each once.
CREATE TABLE frame (
    id INTEGER PRIMARY KEY,
    code INTEGER NOT NULL REFERENCES code(id),
    offset INTEGER NOT NULL,          -- as in the file's symbol table; the address without a file
    UNIQUE (code, offset)
) STRICT;

-- Call stacks, each once.
CREATE TABLE stack (
    id INTEGER PRIMARY KEY,
    hash INTEGER NOT NULL UNIQUE,     -- of its frames
    depth INTEGER NOT NULL            -- how many frames
) STRICT;

CREATE TABLE stack_frame (
    stack INTEGER NOT NULL REFERENCES stack(id),
    depth INTEGER NOT NULL,           -- 0 = who called malloc, mmap, …
    frame INTEGER NOT NULL REFERENCES frame(id),
    PRIMARY KEY (stack, depth)
) STRICT, WITHOUT ROWID;

-- One call. t_ns is when it had taken, or just before it gave back, so that in order of t_ns an
-- address is given back before it is taken again.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run(id),
    t_ns INTEGER NOT NULL,
    began_ns INTEGER,                 -- when a call that takes began; NULL for others
    kind INTEGER NOT NULL REFERENCES event_kind(id),
    tid INTEGER NOT NULL,
    address INTEGER NOT NULL,         -- of brk: the new end
    bytes INTEGER NOT NULL,           -- as asked for; of brk: 0; of shmdt: 0, see its shmat
    old_address INTEGER,              -- of effect MOVE; of brk: the old end
    old_bytes INTEGER,                -- 0 = was not known: smaller than stack_min_bytes
    protection INTEGER,               -- of mmap, mprotect, shmat; bits: 1 read, 2 write, 4 execute
    map_flags INTEGER,                -- of mmap, as the system has them
    flags INTEGER NOT NULL,           -- bits: 1 made inside another event's call, 2 stack is cut
    stack INTEGER REFERENCES stack(id) -- NULL = could not be walked
) STRICT;
CREATE INDEX event_by_time ON event(run, t_ns);

-- Events that are missing: they came faster than they could be written, or retention removed them;
-- what is missing of a run before its oldest event is in one row.
CREATE TABLE event_loss (
    run INTEGER NOT NULL REFERENCES run(id),
    t_ns INTEGER NOT NULL,            -- when it was noticed; the time of the newest one removed
    events INTEGER NOT NULL
) STRICT;
