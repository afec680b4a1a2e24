/* SPDX-License-Identifier: MIT */
/* The commands that are tried with each fault, and the files they are given: made once, laid anew
 * before each call. Included by test_commands.c alone, behind what it includes. */
#ifndef TEST_FAULT_COMMAND_INPUTS_H
#define TEST_FAULT_COMMAND_INPUTS_H

struct command {
    const char *line;   /* words, a blank between two */
    const char *about;  /* of which its sentences name one, where not memory or output */
    bool writes;        /* files, which are whole or not there */
    const char *leaves; /* what may be there all the same */
};

/* With --json the file has its name before stdout is written, which may fail, too: one such. */
static const struct command commands[] = {
    {"info r.db", "r.db", false, ""},
    {"info r.db --json", "r.db", false, ""},
    {"show r.db", "r.db", false, ""},
    {"show r.db --json", "r.db", false, ""},
    {"show r.db --summary", "r.db", false, ""},
    {"show r.db --regions heap", "r.db", false, ""},
    {"timeline r.db", "r.db", false, ""},
    {"timeline r.db --json", "r.db", false, ""},
    {"steps r.db", "r.db", false, ""},
    {"steps r.db --json", "r.db", false, ""},
    {"sites r.db", "r.db", false, ""},
    {"sites r.db --json", "r.db", false, ""},
    {"spikes r.db", "r.db", false, ""},
    {"spikes r.db --json", "r.db", false, ""},
    {"verdict r.db --since start", "r.db", false, ""},
    {"verdict r.db --json", "r.db", false, ""},
    {"check r.db --allow heap<1MiB/h", "r.db", false, ""},
    {"diff r.db start end", "r.db", false, ""},
    {"diff r.db other.db --json", ".db", false, ""},
    {"marks r.db", "r.db", false, ""},
    {"events r.db --kind VirtualAlloc", "r.db", false, ""},
    {"events r.db --json --since start", "r.db", false, ""},
    {"where r.db 0x7f0000400010", "r.db", false, ""},
    {"types r.db", "r.db", false, ""},
    {"sql r.db runs", "r.db", false, ""},
    {"sql r.db SELECT*FROM(vmmap)", "r.db", false, ""},
    {"sql r.db --list --json", "r.db", false, ""},
    {"schema", "output", false, ""},
    {"top r.db --ascii", "r.db", false, ""},
    {"top r.db --json", "r.db", false, ""},
    {"export r.db --csv -o out", "r.db out", true, ""},
    {"export r.db --json", "r.db", false, ""},
    {"export r.db --openmetrics --run 1 -o out", "r.db out", true, ""},
    {"export r.db --perfetto", "r.db", false, ""},
    {"export r.db --memorytracer out", "r.db 4242 out", true, ""},
    {"report r.db", "r.db", false, ""},
    {"merge out r.db other.db", "r.db other.db out", true, ""},
    {"import --csv s.csv --markers m.csv -o out", "s.csv m.csv out", true, ""},
    {"import --csv s.csv -o out --json", "s.csv out", true, "out "},
    {"finish cut.db", "cut.db", true, "cut.db-shm cut.db-journal cut.db-shm "},
};

/* ---- files ---- */

struct input {
    const char *name;
    uint8_t *bytes;
    size_t n;
    struct timespec written;
};

static struct input inputs[8];
static size_t n_inputs;
static bool writers; /* the commands that write files, or the others */

static uint8_t *read_whole(const char *name, size_t *out_n)
{
    FILE *file = fopen(name, "rb");
    uint8_t *bytes = malloc(TEXT_BYTES);

    assert_non_null(file);
    assert_non_null(bytes);
    *out_n = fread(bytes, 1, TEXT_BYTES, file);
    assert_true(*out_n < TEXT_BYTES);
    fclose(file);
    return bytes;
}

static void keep_input(const char *name)
{
    struct input *i = &inputs[n_inputs++];

    i->name = name;
    i->bytes = read_whole(name, &i->n);
}

static bool is_input(const char *name)
{
    for (size_t i = 0; i < n_inputs; i++)
        if (!strcmp(inputs[i].name, name))
            return true;
    return false;
}

/* A file, or a folder with files in it. */
static void drop(const char *name)
{
    char path[512];
    struct dirent *e;
    DIR *d;

    if (!unlink(name) || !(d = opendir(name)))
        return;
    while ((e = readdir(d))) {
        snprintf(path, sizeof(path), "%s/%s", name, e->d_name);
        unlink(path);
    }
    closedir(d);
    rmdir(name);
}

/* Those that a command changed are written again; what it made goes. */
static void lay_inputs(void)
{
    DIR *d = opendir(".");
    struct dirent *e;
    struct stat st;

    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.' && !is_input(e->d_name))
            drop(e->d_name);
    if (d)
        closedir(d);
    for (size_t i = 0; i < n_inputs; i++) {
        struct input *in = &inputs[i];

        if (!stat(in->name, &st) && st.st_size == (off_t)in->n &&
            !memcmp(&st.st_mtim, &in->written, sizeof(in->written)))
            continue;
        folder_write(in->name, in->bytes, in->n);
        if (stat(in->name, &st))
            abort();
        in->written = st.st_mtim;
    }
}

static void change_file(const char *name, const char *sql)
{
    sqlite3 *db;
    char *text = NULL;

    assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &text))
        fail_msg("%s: %s", name, text);
    sqlite3_close(db);
}

static const char calls[] =
    "INSERT INTO string(id, text) VALUES (901, '/gone/app'), (902, '/gone/libc.so.6');"
    "INSERT INTO code VALUES (1, 901, 'ab'), (2, 902, '');"
    "INSERT INTO frame VALUES (1, 1, 4096), (2, 2, 64), (3, 1, 8192);"
    "INSERT INTO stack VALUES (1, 11, 2), (2, 12, 1);"
    "INSERT INTO stack_frame VALUES (1, 0, 2), (1, 1, 1), (2, 0, 3);"
    "INSERT INTO event_kind VALUES (16, 'malloc', 'TAKE'), (22, 'free', 'GIVE');"
    "INSERT INTO event(run, t_ns, kind, tid, address, bytes, flags, stack) VALUES"
    " (2, 9500000000, 16, 1, 4294967296, 54280192, 0, 1), (2, 9600000000, 16, 1, 65536, 70000, 0, "
    "2),"
    " (2, 9700000000, 22, 1, 65536, 70000, 0, 2), (2, 24500000000, 16, 1, 8589934592, 54280192, 0, "
    "1);"
    "UPDATE level SET ws = ws + 90000000 WHERE run = 2 AND type = 7 AND sample BETWEEN 30 AND 32";

static const char another[] = "UPDATE run SET uuid = 'other' || id, pid = pid + 1000";

/* What a recorder that was killed leaves: an open run, and its last commit in the -wal. */
static void leave_cut_file(void)
{
    sqlite3 *db;

    folder_write("open.db", recording, recording_bytes);
    assert_int_equal(sqlite3_open("open.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA journal_mode = WAL;"
                                  "UPDATE run SET state = 'recording', recorder_pid = 999999999",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    for (int wal = 0; wal < 2; wal++) {
        size_t n;
        uint8_t *bytes = read_whole(wal ? "open.db-wal" : "open.db", &n);

        folder_write(wal ? "cut.db-wal" : "cut.db", bytes, n);
        free(bytes);
    }
    sqlite3_close(db);
}

static void make_inputs(void)
{
    static const char series[] = "t_ns,heap,stack,own,=threads\n1000000000,1000000,8192,77,3\n"
                                 "2000000000,2000000,8192,,3\n3000000000,3000000,8192,78,4\n";

    recording_make();
    folder_write("r.db", recording, recording_bytes);
    change_file("r.db", calls);
    folder_write("other.db", recording, recording_bytes);
    change_file("other.db", another);
    leave_cut_file();
    folder_write("s.csv", series, sizeof(series) - 1);
    folder_write("m.csv", "1500000000,first\n2500000000,second\n", 36);
    keep_input("r.db");
    keep_input("other.db");
    keep_input("cut.db");
    keep_input("cut.db-wal");
    keep_input("s.csv");
    keep_input("m.csv");
}

#endif
