// SPDX-License-Identifier: MIT
// bindings/cpp: the scenarios of bindings/contract/README.md that careless programs run into.
// Included once, by contract.cpp.
#ifndef MEMTRACER_BINDINGS_CPP_HOSTILE_HPP
#define MEMTRACER_BINDINGS_CPP_HOSTILE_HPP

#include "support.hpp"

namespace
{

void refused(int code, const std::function<void()> &call)
{
    try {
        call();
    } catch (const memtracer::error &e) {
        need(e.code().value() == code, e.what());
        return;
    }
    need(false, "it throws");
}

// The file has one mark, and its run was stopped.
void need_whole(const std::string &db, const std::string &label)
{
    std::vector<memtracer::row> rows =
        memtracer::recording(db).rows("SELECT m.label AS label, state FROM mark m JOIN run");

    need(rows.size() == 1 && rows[0].text("label") == label, "the label " + label);
    need(rows[0].text("state") == "stopped", "stopped");
}

void not_a_recording()
{
    place p;

    std::ofstream(p.db) << "a letter";
    refused(TRACER_EDB, [&] { memtracer::trace{p.db}; });
    refused(TRACER_EDB, [&] { memtracer::recording{p.db}; });
    need(content(p.db) == "a letter", "it stays as it was");
}

void stop_twice()
{
    place p;
    memtracer::trace t{p.db}, u;

    t.stop();
    t.stop();
    need(!t, "a stopped trace is empty");
    u = memtracer::trace{p.db};
    t = std::move(u);
    need(t && !u, "moved");
}

void after_stop()
{
    place p;
    memtracer::trace t{p.db};
    memtracer::counter counter = t.add_counter("entries");
    char pool[9];

    t.stop();
    refused(TRACER_ESTATE, [&] { counter.set(1); });
    refused(TRACER_EINVAL, [&] { t.mark("late"); });
    refused(TRACER_EINVAL, [&] { t.sample(); });
    refused(TRACER_EINVAL, [&] { t.flush(); });
    refused(TRACER_EINVAL, [&] { t.pause(); });
    refused(TRACER_EINVAL, [&] { t.resume(); });
    refused(TRACER_EINVAL, [&] { t.totals(); });
    refused(TRACER_EINVAL, [&] { t.stats(); });
    refused(TRACER_EINVAL, [&] { t.add_type("late"); });
    refused(TRACER_EINVAL, [&] { t.add_counter("late"); });
    refused(TRACER_EINVAL, [&] { t.claim(pool, sizeof(pool), TRACER_TYPE_HEAP); });
    refused(TRACER_EINVAL, [&] { t.unclaim(pool, sizeof(pool)); });
    need(p.ask("SELECT * FROM mark").empty(), "nothing is recorded");
}

void start_twice()
{
    place p;
    memtracer::trace t{p.db};

    refused(TRACER_ESTATE, [&] { memtracer::trace{p.db}; });
    t.mark("goes on");
    t.stop();
    need_whole(p.db, "goes on");
}

std::string times(int n, const std::string &text)
{
    std::string all;

    while (n-- > 0)
        all += text;
    return all;
}

void long_label()
{
    place p;
    memtracer::options o;
    std::string name = times(1000, "€");

    o.label = name.c_str();
    memtracer::trace t{p.db, o};
    t.mark("x" + times(1000, "ü"));
    t.stop();
    need_whole(p.db, "x" + times(127, "ü"));
    std::string label = p.ask("SELECT label FROM run").at(0).text("label");
    need(!label.empty() && label == times(static_cast<int>(label.size() / 3), "€"), label);
}

void no_utf8()
{
    place p;
    memtracer::trace t{p.db};

    t.mark("a \xff\xfe b");
    t.stop();
    need_whole(p.db, "a \xff\xfe b");
}

void nul_inside()
{
    place p;
    memtracer::trace t{p.db};
    const std::string text("a\0b", 3);

    refused(TRACER_EINVAL, [&] { t.mark(text); });
    refused(TRACER_EINVAL, [&] { t.add_type(text); });
    refused(TRACER_EINVAL, [&] { t.add_counter(text); });
    refused(TRACER_EINVAL, [&] { memtracer::trace{p.folder + "/" + text}; });
    refused(TRACER_EINVAL, [&] { memtracer::recording{p.folder + "/" + text}; });
    t.stop();
    need(p.ask("SELECT * FROM mark").empty(), "nothing is recorded");
    need(p.files() == std::vector<std::string>{"t.db"}, "nothing is made");
}

void forgotten()
{
    place p;
    {
        memtracer::trace t{p.db};
        t.mark("then forgotten");
    }
    need_whole(p.db, "then forgotten");
    need(p.files() == std::vector<std::string>{"t.db"}, "one plain file");
}

void forked()
{
    place p;
    memtracer::trace t{p.db};

    need(in_child([&](std::error_code &ec) { t.mark("child", ec); }) == TRACER_ESTATE,
         "TRACER_ESTATE");
    t.stop();
    need(p.ask("SELECT * FROM mark").empty(), "the child marked nothing");
}

void own_in_child()
{
    place p;
    const std::string other = p.folder + "/child.db";
    memtracer::trace t{p.db};

    need(in_child([&](std::error_code &ec) {
             t.stop(ec);
             if (ec)
                 return;
             memtracer::trace own{other, memtracer::options{}, ec};
             if (!ec)
                 own.mark("child", ec);
             if (!ec)
                 own.stop(ec);
         }) == 0,
         "the child records");
    t.mark("parent");
    t.stop();
    need_whole(p.db, "parent");
    need_whole(other, "child");
}

} // namespace

#endif
