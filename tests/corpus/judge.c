/* SPDX-License-Identifier: MIT */
/* tests/corpus: one series in, one line of JSON out.
 * In: on standard input, lines "series ID", "file PATH", "page N", "limit N", "session T",
 * "marker T LABEL", "judge". PATH is a CSV with a header line "t_ns,type,…". Out: per "judge" a
 * line with the verdict, as the scorer wants it.
 * Driven by score_corpus.py; must not know the labels. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/verdict/verdict.h"

#define MOST_MARKERS 100000
#define MOST_SESSIONS 1000
#define LINE_BYTES 4096

struct series {
    char id[64];
    char path[LINE_BYTES];
    char types[MT_VERDICT_TYPES][64];
    int64_t *t_ns;
    int64_t *values[MT_VERDICT_TYPES];
    struct mt_verdict_marker *markers;
    int64_t *sessions;
    struct mt_verdict_input in;
};

/* The names after the first comma. */
static void read_header(struct series *s, const char *line)
{
    const char *p = line + strcspn(line, ",\r\n");

    s->in.n_types = 0;
    while (*p == ',' && s->in.n_types < MT_VERDICT_TYPES) {
        size_t n = strcspn(++p, ",\r\n");

        snprintf(s->types[s->in.n_types++], sizeof s->types[0], "%.*s", (int)n, p);
        p += n;
    }
}

static size_t count_lines(FILE *f)
{
    size_t n = 0;
    int c;

    while ((c = getc(f)) != EOF)
        n += c == '\n';
    rewind(f);
    return n;
}

static void read_row(struct series *s, char *line)
{
    size_t i = s->in.n++;
    char *p = line;

    s->t_ns[i] = strtoll(p, &p, 10);
    for (unsigned k = 0; k < s->in.n_types; k++) {
        char *from = *p == ',' ? ++p : p;

        s->values[k][i] = strtoll(from, &p, 10);
        if (p == from)
            s->values[k][i] = MT_VERDICT_UNKNOWN;
    }
}

static int read_csv(struct series *s)
{
    char line[LINE_BYTES];
    FILE *f = fopen(s->path, "r");
    size_t n;

    if (!f)
        return -1;
    n = count_lines(f) + 1;
    if (fgets(line, sizeof line, f))
        read_header(s, line);
    s->t_ns = realloc(s->t_ns, n * sizeof *s->t_ns);
    for (unsigned k = 0; k < s->in.n_types; k++)
        s->values[k] = realloc(s->values[k], n * sizeof *s->values[k]);
    s->in.n = 0;
    while (fgets(line, sizeof line, f))
        read_row(s, line);
    fclose(f);
    return 0;
}

static void print_steps(const struct mt_verdict_type *t)
{
    printf("\"steps\": [");
    for (unsigned k = 0; k < t->n_steps; k++)
        printf("%s[%" PRId64 ", %" PRId64 "]", k ? ", " : "", t->steps[k].t_ns, t->steps[k].bytes);
    printf("]");
}

static void print_verdict(const struct series *s, const struct mt_verdict *v)
{
    const struct mt_verdict_type *t = &v->types[v->type];

    printf("{\"id\": \"%s\", \"class\": \"%s\", \"type\": \"%s\", ", s->id,
           mt_verdict_name(t->likely), s->types[v->type]);
    print_steps(t);
    if (v->leak)
        printf(", \"since_ns\": %" PRId64 ", \"rate_bytes_per_s\": %.6g", t->onset_ns,
               t->bytes_per_s);
    if (v->exhaustion_ns)
        printf(", \"exhaustion_ns\": %" PRId64, v->exhaustion_ns);
    if (v->action)
        printf(", \"action\": \"%s\"", v->action);
    printf(", \"confidence\": %.3f, \"types\": {", v->confidence);
    for (unsigned k = 0; k < v->n_types; k++)
        printf("%s\"%s\": \"%s\"", k ? ", " : "", s->types[k], mt_verdict_name(v->types[k].likely));
    printf("}}\n");
}

static int judge(struct series *s)
{
    struct mt_verdict *v;

    if (read_csv(s) != 0) {
        fprintf(stderr, "judge: cannot read %s\n", s->path);
        return 1;
    }
    s->in.t_ns = s->t_ns;
    s->in.values = (const int64_t *const *)s->values;
    s->in.markers = s->markers;
    s->in.session_starts_ns = s->sessions;
    if (mt_verdict_judge(&s->in, &v) != 0)
        return 1;
    print_verdict(s, v);
    mt_verdict_free(v);
    return 0;
}

static void add_marker(struct series *s, char *text)
{
    char *label;
    int64_t t = strtoll(text, &label, 10);

    if (s->in.n_markers == MOST_MARKERS)
        return;
    s->markers[s->in.n_markers].t_ns = t;
    s->markers[s->in.n_markers++].label = strdup(label + (*label == ' '));
}

static void begin(struct series *s, const char *id)
{
    for (size_t i = 0; i < s->in.n_markers; i++)
        free((void *)(uintptr_t)s->markers[i].label);
    s->in = (struct mt_verdict_input){0};
    snprintf(s->id, sizeof s->id, "%s", id);
}

static int obey(struct series *s, char *line)
{
    char *text = strchr(line, ' ');

    line[strcspn(line, "\n")] = '\0';
    text = text ? text + 1 : line + strlen(line);
    if (strncmp(line, "series", 6) == 0)
        begin(s, text);
    else if (strncmp(line, "file", 4) == 0)
        snprintf(s->path, sizeof s->path, "%s", text);
    else if (strncmp(line, "page", 4) == 0)
        s->in.page_bytes = strtoll(text, NULL, 10);
    else if (strncmp(line, "limit", 5) == 0)
        s->in.limit_bytes = strtoll(text, NULL, 10);
    else if (strncmp(line, "session", 7) == 0 && s->in.n_sessions < MOST_SESSIONS)
        s->sessions[s->in.n_sessions++] = strtoll(text, NULL, 10);
    else if (strncmp(line, "marker", 6) == 0)
        add_marker(s, text);
    else if (strncmp(line, "judge", 5) == 0)
        return judge(s);
    return 0;
}

int main(void)
{
    static struct series s;
    char line[LINE_BYTES];

    s.markers = calloc(MOST_MARKERS, sizeof *s.markers);
    s.sessions = calloc(MOST_SESSIONS, sizeof *s.sessions);
    while (fgets(line, sizeof line, stdin))
        if (obey(&s, line) != 0)
            return 1;
    return 0;
}
