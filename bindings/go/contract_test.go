// SPDX-License-Identifier: MIT

// The scenarios of bindings/contract/README.md in Go; those of careless use are in hostile_test.go.
package memtracer

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"memtracer/internal/native"
)

const mib = 1 << 20

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, options *Options) (*Tracer, string) {
	t.Helper()
	db := filepath.Join(t.TempDir(), "t.db")
	tracer, err := Start(db, options)
	must(t, err)
	t.Cleanup(func() { tracer.Stop() })
	return tracer, db
}

func ask(t *testing.T, db, sql string, params ...any) []Row {
	t.Helper()
	r, err := Open(db)
	must(t, err)
	defer r.Close()
	rows, err := r.Rows(sql, params...)
	must(t, err)
	return rows
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%v is not %v", got, want)
	}
}

func near(t *testing.T, got, want, tolerance int64) {
	t.Helper()
	if got < want-tolerance || got > want+tolerance {
		t.Fatalf("%d is not %d ± %d", got, want, tolerance)
	}
}

// ws of a type in a new sample, or of all.
func ws(t *testing.T, tracer *Tracer, name string) (sum int64) {
	t.Helper()
	must(t, tracer.Sample())
	totals, err := tracer.Totals()
	must(t, err)
	for _, total := range totals {
		if name == "" || name == total.Name {
			sum += int64(total.Columns["ws"])
		}
	}
	return sum
}

func Test_010_load(t *testing.T) {
	header, err := os.ReadFile("../../include/memtracer/version.h")
	must(t, err)
	equal(t, Version(), regexp.MustCompile(`VERSION_STRING "(.*)"`).FindStringSubmatch(string(header))[1])
}

func Test_100_start_and_stop(t *testing.T) {
	tracer, db := begin(t, nil)
	must(t, tracer.Stop())
	files, err := os.ReadDir(filepath.Dir(db))
	must(t, err)
	equal(t, len(files), 1)
	equal(t, ask(t, db, "SELECT state FROM run"), []Row{{"state": "stopped"}})
}

func Test_110_defaults(t *testing.T) {
	tracer, db := begin(t, nil)
	must(t, tracer.Stop())
	name, err := os.ReadFile("/proc/self/comm")
	must(t, err)
	equal(t, ask(t, db, "SELECT interval_ms, label FROM run"),
		[]Row{{"interval_ms": int64(1000), "label": strings.TrimSpace(string(name))}})
}

func Test_120_options(t *testing.T) {
	db := filepath.Join(t.TempDir(), "t.db")
	tracer, err := Start(db, &Options{Flags: 1 << 31})
	if tracer != nil || !errors.Is(err, ErrInvalid) {
		t.Fatal(tracer, err)
	}
	var e *Error
	equal(t, errors.As(err, &e) && e.Name() == "TRACER_EINVAL", true)
	for _, interval := range []time.Duration{-time.Second, (1<<32 + 1000) * time.Millisecond} {
		if _, err := Start(db, &Options{Interval: interval}); !errors.Is(err, ErrInvalid) {
			t.Fatal(interval, err)
		}
	}
	if _, err := os.Stat(db); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the file was made")
	}
}

func Test_200_mark(t *testing.T) {
	label := "reload 'ü' \\ </script>"
	tracer, db := begin(t, nil)
	must(t, tracer.Mark(label))
	must(t, tracer.Stop())
	equal(t, ask(t, db, "SELECT label FROM mark"), []Row{{"label": label}})
	equal(t, ask(t, db, "SELECT count(*) AS n FROM mark WHERE label = ?1", label),
		[]Row{{"n": int64(1)}})
}

func Test_210_own_type(t *testing.T) {
	tracer, _ := begin(t, nil)
	at := native.Map(8 * mib)
	defer native.Unmap(at, 8*mib)
	pool := unsafe.Slice((*byte)(at), 8*mib)
	number, err := tracer.AddType("pool", "of the test")
	must(t, err)
	equal(t, number, uint32(TypeUserFirst))
	must(t, tracer.Claim(pool, number, "the pool"))
	near(t, ws(t, tracer, "pool"), 8*mib, 8192)
	must(t, tracer.Unclaim(pool))
	equal(t, ws(t, tracer, "pool"), int64(0))
}

func Test_220_counters(t *testing.T) {
	tracer, db := begin(t, nil)
	counter, err := tracer.AddCounter("entries", "", "of the cache")
	must(t, err)
	must(t, counter.Set(3))
	must(t, tracer.Sample())
	must(t, counter.Set(-4))
	if _, err := tracer.AddCounter("threads", "", ""); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	must(t, tracer.Stop())
	equal(t, errors.Is(counter.Set(1), ErrState), true)
	equal(t, ask(t, db, "SELECT value FROM counter JOIN counter_kind k ON k.id = counter"+
		" WHERE k.name = 'entries' AND k.unit = 'count' ORDER BY sample"),
		[]Row{{"value": int64(3)}, {"value": int64(-4)}})
}

func Test_300_grow(t *testing.T) {
	tracer, _ := begin(t, nil)
	ws(t, tracer, "")
	before := ws(t, tracer, "")
	pool := make([]byte, 32*mib)
	for at := 0; at < len(pool); at += 4096 {
		pool[at] = 1
	}
	near(t, ws(t, tracer, "")-before, 32*mib, 2*mib)
	runtime.KeepAlive(pool)
}

func Test_310_shrink(t *testing.T) {
	tracer, _ := begin(t, nil)
	ws(t, tracer, "")
	before := ws(t, tracer, "")
	pool := native.Map(32 * mib)
	near(t, ws(t, tracer, "")-before, 32*mib, 2*mib)
	native.Unmap(pool, 32*mib)
	near(t, ws(t, tracer, ""), before, 2*mib)
}

// leak leaks six times in C, each after a mark.
func leak(t *testing.T, db string, flags uint32) {
	t.Helper()
	runtime.GC()
	tracer, err := Start(db, &Options{Runtime: true, Flags: flags})
	must(t, err)
	must(t, tracer.Pause()) // no tick of the timer falls into a leak
	must(t, tracer.Sample())
	for i := 0; i < 6; i++ {
		must(t, tracer.Mark("call of C"))
		native.Leak(4 * mib)
		must(t, tracer.Sample())
	}
	must(t, tracer.Stop())
}

// leaked are the steps that the file has of leak.
func leaked(t *testing.T, db string) []Row {
	t.Helper()
	grew := map[any]int64{}
	for _, row := range ask(t, db, "heap_story") {
		grew[row["name"]], _ = row["grew"].(int64)
	}
	near(t, grew["heap"], 24*mib, mib)
	near(t, grew["go_heap"], 0, mib/2)
	steps := ask(t, db, "SELECT mark, bytes, site FROM punctuated_growth WHERE type = 'heap'")
	equal(t, len(steps), 6)
	for _, step := range steps {
		equal(t, step["mark"], "call of C")
		near(t, step["bytes"].(int64), 4*mib, mib/2)
	}
	return steps
}

func Test_320_native_leak(t *testing.T) {
	db := filepath.Join(t.TempDir(), "t.db")
	leak(t, db, 0)
	leaked(t, db)
}

// The leak happens in a process that runs this test again under libmemtracer-stacks.
func Test_321_leak_site(t *testing.T) {
	stacks := os.Getenv("MEMTRACER_STACKS")
	if db := os.Getenv("MEMTRACER_LEAK_INTO"); db != "" {
		leak(t, db, FlagStacks)
		return
	}
	if stacks == "" {
		t.Skip("MEMTRACER_STACKS does not name libmemtracer-stacks")
	}
	db := filepath.Join(t.TempDir(), "t.db")
	self, err := os.Executable()
	must(t, err)
	child := exec.Command(self, "-test.run=^Test_321_leak_site$")
	child.Env = append(os.Environ(), "LD_PRELOAD="+stacks, "MEMTRACER_LEAK_INTO="+db)
	said, err := child.CombinedOutput()
	if err != nil {
		t.Fatal(err, string(said))
	}
	for _, step := range leaked(t, db) {
		equal(t, strings.HasPrefix(step["site"].(string), self+"+0x"), true)
	}
	if cli := os.Getenv("MEMTRACER_CLI"); cli != "" {
		told, err := exec.Command(cli, "steps", db).Output()
		must(t, err)
		// Names need libdw.
		equal(t, regexp.MustCompile(`native_leak|\+0x`).Match(told), true)
	}
}

func Test_400_read(t *testing.T) {
	tracer, db := begin(t, nil)
	must(t, tracer.Stop())
	rows := ask(t, db, "SELECT * FROM vmmap")
	equal(t, rows[len(rows)-1]["type"], "total")
	cli := os.Getenv("MEMTRACER_CLI")
	if cli == "" {
		t.Skip("MEMTRACER_CLI does not name the command line")
	}
	told, err := exec.Command(cli, "sql", "--json", db, "SELECT * FROM vmmap").Output()
	must(t, err)
	var want []map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(told)))
	decoder.UseNumber()
	must(t, decoder.Decode(&want))
	equal(t, len(rows), len(want))
	for i, row := range rows {
		for name, value := range row {
			if n, ok := value.(int64); ok {
				told, err := want[i][name].(json.Number).Int64()
				must(t, err)
				equal(t, n, told)
			} else {
				equal(t, value, want[i][name])
			}
		}
		equal(t, len(row), len(want[i]))
	}
}

func Test_500_errors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none", "x.db")
	_, err := Start(missing, nil)
	if !errors.Is(err, ErrIO) || !strings.Contains(err.Error(), missing) {
		t.Fatal(err)
	}
	if _, err := Open(missing); !errors.Is(err, ErrIO) {
		t.Fatal(err)
	}
}
