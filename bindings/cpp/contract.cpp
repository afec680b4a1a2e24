// SPDX-License-Identifier: MIT
// bindings/cpp: the scenarios of bindings/contract/README.md through memtracer.hpp; those of
// careless use are in hostile.hpp. In: the environment's MEMTRACER_CLI. Out: a line `ok` or `not
// ok` a scenario, as TAP.
#include <map>

#include "support.hpp"

#include "hostile.hpp"

namespace
{

void load()
{
    std::string header = content("../../include/memtracer/version.h");

    need(header.find(std::string("VERSION_STRING \"") + tracer_version_string() + "\"") !=
             std::string::npos,
         "the library has the header's version");
}

void start_and_stop()
{
    place p;

    memtracer::trace(p.db).stop();
    need(p.files() == std::vector<std::string>{"t.db"}, "one plain file");
    need(p.ask("SELECT state FROM run").at(0).text("state") == "stopped", "one run, stopped");
    {
        memtracer::trace t{p.db};
    }
    need(p.ask("SELECT 1 FROM run WHERE state = 'stopped'").size() == 2, "the destructor stops");
}

void defaults()
{
    place p;

    memtracer::trace(p.db).stop();
    memtracer::row run = p.ask("SELECT interval_ms, label FROM run").at(0);
    need(run.integer("interval_ms") == 1000, "1000 ms");
    need(run.text("label") == program_name(), "the program's name");
}

void options()
{
    place p;
    memtracer::options o;
    std::error_code ec;

    o.flags = 1u << 31;
    memtracer::trace t{p.db, o, ec};
    need(ec.value() == TRACER_EINVAL && !t, "an unknown flag is refused");
    try {
        memtracer::trace thrown{p.db, o};
        need(false, "it throws");
    } catch (const memtracer::error &e) {
        need(e.code().value() == TRACER_EINVAL, "TRACER_EINVAL");
    }
    need(p.files().empty(), "no file was made");
}

void mark()
{
    place p;
    const std::string label = "reload 'ü' \\ </script>";
    memtracer::trace t{p.db};

    t.mark(label);
    {
        memtracer::mark_scope scope{t, "s"};
    }
    t.stop();
    std::vector<memtracer::row> rows = p.ask("SELECT label FROM mark ORDER BY id");
    need(rows.size() == 3 && rows[0].text("label") == label, "the label, byte for byte");
    need(rows[1].text("label") == "s: begin" && rows[2].text("label") == "s: end", "the scope");
}

void own_type()
{
    place p;
    memtracer::trace t{p.db};
    std::uint32_t type = t.add_type("pool", "of the test");
    char *pool = map_pages(8 << 20);

    need(type == TRACER_TYPE_USER_FIRST, "the first own type");
    t.claim(pool, 8 << 20, type, "the pool");
    near(resident(t, type), 8 * MIB, 8192);
    t.unclaim(pool, 8 << 20);
    need(resident(t, type) == 0, "nothing after unclaiming");
    unmap_pages(pool, 8 << 20);
}

void counters()
{
    place p;
    memtracer::trace t{p.db};
    memtracer::counter entries = t.add_counter("entries", "count", "of the cache");
    std::error_code ec;

    entries.set(3);
    t.sample();
    entries.set(-4);
    t.add_counter("threads", "count", "", ec);
    need(ec.value() == TRACER_EINVAL, "a built-in name is refused");
    t.stop();
    entries.set(1, ec);
    need(ec.value() == TRACER_ESTATE, "a counter of a stopped tracer is inert");
    std::vector<memtracer::row> rows =
        p.ask("SELECT value FROM counter JOIN counter_kind k ON k.id = counter"
              " WHERE k.name = 'entries' AND k.unit = 'count' ORDER BY sample");
    need(rows.size() == 2, "two values");
    need(rows[0].integer("value") == 3 && rows[1].integer("value") == -4, "3, then -4");
}

void grow()
{
    place p;
    memtracer::trace t{p.db};

    resident(t);
    std::int64_t before = resident(t);
    std::vector<char> pool(32 << 20, 1);
    near(resident(t) - before, 32 * MIB, 2 * MIB);
    need(pool[0] == 1, "the pool is used");
}

void shrink()
{
    place p;
    memtracer::trace t{p.db};

    resident(t);
    std::int64_t before = resident(t);
    char *pool = map_pages(32 << 20);
    near(resident(t) - before, 32 * MIB, 2 * MIB);
    unmap_pages(pool, 32 << 20);
    near(resident(t), before, 2 * MIB);
}

void *volatile leaked; // without it the compiler leaves the block out

// Six leaks, each after a mark.
void leak_by(const std::function<void(std::size_t)> &take, const std::string &db,
             std::uint32_t flags)
{
    memtracer::options o;
    o.flags = flags;
    memtracer::trace t{db, o};
    memtracer::counter heap = t.add_counter("cpp_heap", "bytes", "by operator new");

    heap.set(cpp_bytes);
    t.pause(); // no tick of the timer falls into a leak
    t.sample();
    for (int i = 0; i < 6; i++) {
        t.mark("call of C");
        take(4 << 20);
        heap.set(cpp_bytes);
        t.sample();
    }
    t.stop();
}

// The steps that the file has of that.
std::vector<memtracer::row> steps_of_leak(const place &p)
{
    std::map<std::string, std::int64_t> grew;

    for (const memtracer::row &row : p.ask("heap_story"))
        grew[row.text("name")] = row.integer("grew");
    near(grew.at("heap"), 24 * MIB, MIB);
    near(grew.at("cpp_heap"), 0, MIB / 2);
    std::vector<memtracer::row> steps =
        p.ask("SELECT mark, bytes, site FROM punctuated_growth WHERE type = 'heap'");
    need(steps.size() == 6, "six steps");
    for (const memtracer::row &step : steps) {
        need(step.text("mark") == "call of C", "a step after its mark");
        near(step.integer("bytes"), 4 * MIB, MIB / 2);
    }
    return steps;
}

void native_leak()
{
    place p;

    leak_by([](std::size_t n) { leaked = std::memset(std::malloc(n), 1, n); }, p.db, 0);
    steps_of_leak(p);
}

// In a process that runs this program again: a plugin of C leaks.
int leak_in_plugin(const char *plugin, const char *db)
{
    leak_fn leak = leak_of(plugin);

    if (!leak)
        return 1;
    leak_by(leak, db, TRACER_F_STACKS);
    return 0;
}

void leak_site()
{
    place p;
    const char *stacks = std::getenv("MEMTRACER_STACKS"), *cli = std::getenv("MEMTRACER_CLI");
    const char *plugin = std::getenv("MEMTRACER_TEST_PLUGIN");

    if (!stacks || !plugin)
        throw skipped("MEMTRACER_STACKS does not name libmemtracer-stacks");
    need(told("LD_PRELOAD='" + std::string(stacks) + "' /proc/" + std::to_string(getpid()) +
              "/exe '" + plugin + "' '" + p.db + "' && echo done") == "done\n",
         "the other process leaks");
    for (const memtracer::row &step : steps_of_leak(p))
        need(step.text("site").find(std::string(plugin) + "+0x") == 0, step.text("site"));
    if (!cli)
        return;
    std::string steps = told("'" + std::string(cli) + "' steps '" + p.db + "'");
    need(steps.find("contract_leak") != std::string::npos || // needs libdw
             steps.find("+0x") != std::string::npos,
         steps);
}

// The rows as `memtracer sql --json` writes them, without blanks.
std::string as_json(const std::vector<memtracer::row> &rows)
{
    std::string text;

    for (const memtracer::row &row : rows) {
        text += text.empty() ? "[{" : ",{";
        for (std::size_t i = 0; i < row.size(); i++) {
            const memtracer::value &v = row.at(i);
            text += (i ? ",\"" : "\"") + row.name(i) + "\":";
            text += v.kind == TRACER_VALUE_NULL      ? "null"
                    : v.kind == TRACER_VALUE_INTEGER ? std::to_string(v.integer)
                                                     : "\"" + v.text + "\"";
        }
        text += "}";
    }
    return text + "]";
}

void read_file()
{
    place p;
    const char *cli = std::getenv("MEMTRACER_CLI");

    memtracer::trace(p.db).stop();
    std::vector<memtracer::row> rows = p.ask("SELECT * FROM vmmap");
    need(rows.at(rows.size() - 1).text("type") == "total", "the last row is the total");
    if (!cli)
        throw skipped("MEMTRACER_CLI does not name the command line");
    std::string same = told("'" + std::string(cli) + "' sql --json '" + p.db +
                            "' 'SELECT * FROM vmmap' | tr -d ' \\n'");
    need(as_json(rows) == same, "the same as the command line\n" + as_json(rows) + "\n" + same);
}

void errors()
{
    place p;
    std::string missing = p.folder + separator + "none" + separator + "x.db";

    try {
        memtracer::trace t{missing};
        need(false, "it throws");
    } catch (const memtracer::error &e) {
        need(e.code().value() == TRACER_EIO, "TRACER_EIO");
        need(std::string(e.what()).find(missing) != std::string::npos, e.what());
    }
    try {
        memtracer::recording r{missing};
        need(false, "it throws");
    } catch (const memtracer::error &e) {
        need(e.code().value() == TRACER_EIO, "TRACER_EIO");
    }
}

const std::pair<const char *, std::function<void()>> scenarios[] = {
    {"test_010_load", load},
    {"test_100_start_and_stop", start_and_stop},
    {"test_110_defaults", defaults},
    {"test_120_options", options},
    {"test_200_mark", mark},
    {"test_210_own_type", own_type},
    {"test_220_counters", counters},
    {"test_300_grow", grow},
    {"test_310_shrink", shrink},
    {"test_320_native_leak", native_leak},
    {"test_321_leak_site", leak_site},
    {"test_400_read", read_file},
    {"test_500_errors", errors},
    {"test_501_not_a_recording", not_a_recording},
    {"test_510_stop_twice", stop_twice},
    {"test_511_after_stop", after_stop},
    {"test_520_start_twice", start_twice},
    {"test_530_long_label", long_label},
    {"test_540_no_utf8", no_utf8},
    {"test_550_nul_inside", nul_inside},
    {"test_560_forgotten", forgotten},
    {"test_610_fork", forked},
    {"test_611_own_in_child", own_in_child},
};

} // namespace

int main(int argc, char **argv)
{
    int number = 0, n_failed = 0;

    if (argc == 3)
        return leak_in_plugin(argv[1], argv[2]);

    std::printf("1..%d\n", static_cast<int>(sizeof(scenarios) / sizeof(scenarios[0])));
    for (const auto &scenario : scenarios) {
        std::string said, before = "";
        try {
            scenario.second();
        } catch (const skipped &e) {
            said = std::string(" # SKIP ") + e.what();
        } catch (const std::exception &e) {
            before = "not ";
            std::printf("# %s\n", e.what());
            n_failed++;
        }
        std::printf("%sok %d - %s%s\n", before.c_str(), ++number, scenario.first, said.c_str());
    }
    return n_failed ? 1 : 0;
}
