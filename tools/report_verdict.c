/* SPDX-License-Identifier: MIT */
/* tools: the verdict on a run, on top of its page. In: a recording. Out: HTML, and the verdict for
 * who draws it. Called by cmd_report.c. */
#include <inttypes.h>
#include <string.h>

#include "human.h"
#include "judgement.h"
#include "memtracer/memtracer.h"
#include "report.h"

static void put_line(FILE *out, const char *tag, const char *text)
{
    fprintf(out, "<%s>", tag);
    report_put_text(out, text, strlen(text));
    fprintf(out, "</%s>\n", tag);
}

#define WORTH_A_WORD 65536 /* bytes that a quiet type moved */

static void put_sentences(FILE *out, const tracer_verdict *v, bool worth_a_word)
{
    char text[SENTENCE_BYTES];

    for (int growing = 1; growing >= 0; growing--)
        for (uint32_t k = 0; k < v->n_types; k++) {
            const tracer_type_verdict *t = v->types[k];
            bool worth = t->growing || k == v->type || t->swing_bytes >= WORTH_A_WORD;

            if ((int)(t->growing != 0) != growing || worth != worth_a_word)
                continue;
            sentence_type(v, k, text);
            put_line(out, "li", text);
        }
}

static void put_number(FILE *out, int64_t bytes)
{
    char human[HUMAN_BYTES];

    human_bytes(human, bytes, false);
    fprintf(out, "<td class=\"n\" data-value=\"%" PRId64 "\" title=\"%" PRId64 "\">%s</td>", bytes,
            bytes, human);
}

/* The verdict sees steps under noise that no view finds. */
static void put_steps(FILE *out, const tracer_verdict *v)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < v->n_types; k++)
        n += v->types[k]->n_steps;
    if (n == 0)
        return;
    fputs("<details><summary>steps it is judged by</summary><div class=\"wide\" tabindex=\"0\" "
          "role=\"region\" "
          "aria-label=\"steps\"><table id=\"judged\">"
          "<caption>Steps that the verdict goes by</caption>"
          "<thead><tr><th scope=\"col\">type</th><th scope=\"col\">t_s</th>"
          "<th scope=\"col\">bytes</th><th scope=\"col\">kept</th></tr></thead>\n<tbody>\n",
          out);
    for (uint32_t k = 0; k < v->n_types; k++)
        for (uint32_t i = 0; i < v->types[k]->n_steps; i++) {
            const tracer_verdict_step *step = &v->types[k]->steps[i];

            fputs("<tr><th scope=\"row\">", out);
            report_put_text(out, v->types[k]->type, strlen(v->types[k]->type));
            fprintf(out, "</th><td class=\"n\">%.10g</td>", (double)step->t_ns / 1e9);
            put_number(out, step->bytes);
            put_number(out, step->kept_bytes);
            fputs("</tr>\n", out);
        }
    fputs("</tbody></table></div></details>\n", out);
}

static void put_judged(FILE *out, const tracer_verdict *v)
{
    char text[SENTENCE_BYTES];

    snprintf(text, sizeof(text), "%s%s",
             v->n_types == 0 ? "Too short to say: there is no sample yet"
             : v->leak       ? "Leak: "
             : v->too_short  ? "Too short to say"
                             : "No leak",
             v->leak ? v->types[v->type]->type : "");
    fprintf(out, "<p class=\"verdict %s\">", v->leak ? "bad" : v->too_short ? "open" : "good");
    report_put_text(out, text, strlen(text));
    fputs("</p>\n<ul>\n", out);
    put_sentences(out, v, true);
    sentence_restarts(v, text);
    if (text[0])
        put_line(out, "li", text);
    sentence_limit(v, text);
    if (text[0])
        put_line(out, "li", text);
    fputs("</ul>\n<details><summary>types at rest</summary><ul>\n", out);
    put_sentences(out, v, false);
    fputs("</ul></details>\n", out);
    put_steps(out, v);
}

int report_verdict(struct report *r)
{
    const struct judgement_question q = {0};
    int code = judgement_ask(r->answer, &q, &r->verdict);

    if (code)
        return code;
    fputs("<section aria-labelledby=\"h-verdict\"><h2 id=\"h-verdict\">Verdict</h2>\n", r->out);
    put_judged(r->out, r->verdict);
    fputs("</section>\n", r->out);
    return TOOL_OK;
}
