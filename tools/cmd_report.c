/* SPDX-License-Identifier: MIT */
/* tools: memtracer report: a recording as one page that asks nothing of any other machine.
 * In: a file. Out: HTML, which is whole or not there. The parts are in report_*.c, the script and
 * the looks in tools/report/. */
#include <string.h>

#include "human.h"
#include "moment.h"
#include "options.h"
#include "page.h"
#include "platform.h"
#include "report.h"
#include "written.h"

static const char help[] =
    "usage: memtracer report FILE -o REPORT.html [--run N] [--full] [--json]\n"
    "\n"
    "Writes one page with everything in it: the verdict, types of memory over time with steps and\n"
    "marks, the table of types by states at any moment, the address space, events, call sites and\n"
    "what recording cost. It opens in any browser, from any place, and loads nothing from "
    "anywhere;\n"
    "without scripts it shows the tables.\n"
    "\n"
    "  -o, --output FILE   the page; written beside it and renamed when whole; default: stdout\n"
    "  --run N             the N-th run; default: the newest\n"
    "  --full              every moment. Without it a long run is thinned to some thousand "
    "moments,\n"
    "                      of which none that is a peak or a floor goes\n"
    "  --json              with -o, on stdout: {\"file\": …, \"run\": …, \"samples\": …,\n"
    "                      \"ticks\": …, \"marks\": …, \"bytes\": …} of what was written\n"
    "\n"
    "Example:\n"
    "  memtracer report app.db -o app.html\n"
    "\n"
    "Exit: 0 written, 1 usage, 2 a file cannot be read or written, an interrupt came, or this\n"
    "memtracer was built without the report.\n";

static int put_title(void *user, uint32_t n_columns, const char *const *names,
                     const tracer_value *values)
{
    struct report *r = user;

    (void)n_columns, (void)names;
    fputs("<header><h1>memtracer: ", r->out);
    report_put_text(r->out, values[0].bytes, values[0].n_bytes);
    fputs("</h1>\n<p>", r->out);
    report_put_text(r->out, values[1].bytes, values[1].n_bytes);
    fputs("</p></header>\n<main>\n", r->out);
    return 1;
}

static int put_head(struct report *r)
{
    fputs(report_page[0].text, r->out);
    answer_bind(r->answer, r->answer->run);
    return answer_ask(
        r->answer,
        "SELECT label, 'run ' || r.id || ', process ' || pid || ' on ' || host || ' (' || os || "
        "'), '"
        " || strftime('%Y-%m-%d %H:%M:%S', start_wall_ns / 1000000000, 'unixepoch') || ' UTC, '"
        " || printf('%.1f s', (SELECT max(until_ns) FROM sample WHERE run = r.id) / 1e9) || ', '"
        " || (SELECT count(*) FROM sample WHERE run = r.id) || ' samples, ' || state"
        " FROM run r WHERE r.id = ?1",
        put_title, r);
}

static int write_page(struct report *r)
{
    static int (*const parts[])(struct report *) = {put_head,        report_verdict, NULL,
                                                    report_overview, report_tables,  report_data};
    int code = TOOL_OK;

    for (size_t i = 0; i < COUNT_OF(parts) && !code && !r->work->interrupted; i++)
        if (parts[i])
            code = parts[i](r);
        else
            fputs(report_page[1].text, r->out);
    fputs(report_page[2].text, r->out);
    return code;
}

static int find_last_sample(struct report *r)
{
    bool found;
    int64_t row[2] = {0, 0};
    int code;

    answer_bind(r->answer, r->answer->run);
    code = answer_integers(r->answer, "SELECT max(id), count(*) FROM sample WHERE run = ?1", row, 2,
                           &found);
    r->last_sample = row[0];
    r->work->of = 3 * row[1];
    return code;
}

static int report(struct report *r, const char *output)
{
    static struct walk walk;
    struct out_file o = {0};
    int code = find_last_sample(r);

    r->walk = &walk;
    if (!code)
        code = walk_open(&walk, r->answer, r->work, r->answer->run);
    if (!code)
        code = out_file_open(&o, output);
    if (code)
        return code;
    r->out = o.file;
    code = write_page(r);
    tracer_verdict_free(r->verdict);
    if (!code)
        code = work_end(r->work);
    return out_file_close(&o, 1, code);
}

struct wish {
    const char *output;
    bool full, as_json;
    struct work work;
};

static int take(void *user, char **operands, int n)
{
    struct wish *w = user;

    (void)operands, (void)n;
    if (w->as_json && !w->output) {
        complain("report: --json goes with -o: the page itself is on stdout");
        return TOOL_USAGE;
    }
    if (!report_page[0].text) {
        complain("report: this memtracer was built without the report (Meson feature `report`, "
                 "which needs npm and uPlot)");
        return TOOL_ENVIRONMENT;
    }
    work_begin(&w->work, "report");
    return TOOL_OK;
}

static void tell(struct answer *a, const char *path, struct written *w)
{
    w->bytes = platform_file_bytes(path);
    json_open(&a->out, NULL, '{');
    json_string(&a->out, "file", path);
    json_integer(&a->out, "run", a->run);
    written_put(&a->out, w);
    json_close(&a->out, '}');
}

static int write_report(struct answer *a, void *user)
{
    struct wish *w = user;
    struct report r = {.answer = a, .work = &w->work, .full = w->full};
    struct written written;
    int code = moment_run(a, a->run, &a->run);

    if (w->as_json && !code)
        code = written_count(a, a->run, a->run, &written);
    if (!code)
        code = report(&r, w->output);
    if (w->as_json && !code)
        tell(a, w->output, &written);
    return code;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct answer a = {0};
    struct wish w = {0};
    const struct option_spec specs[] = {
        {"output", 'o', OPTION_FILE, &w.output},
        {"run", 0, OPTION_NUMBER, &a.run},
        {"full", 0, OPTION_FLAG, &w.full},
        {"json", 0, OPTION_FLAG, &w.as_json},
        {0},
    };

    return answer_question(&(struct question){self, &a, specs, write_report, &w, .take = take},
                           argc, argv);
}

const struct command command_report = {"report", "a page for a browser, in one file", help, run};
