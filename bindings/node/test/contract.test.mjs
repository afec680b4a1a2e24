// SPDX-License-Identifier: MIT
// The scenarios of bindings/contract/README.md in Node; those of careless use are in
// hostile.test.mjs.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { constants, Recording, Tracer, version } from '../index.mjs'
import { leak, leaker } from './leaker.mjs'
import { addon, ask, MIB, native, near, require, scenario } from './support.mjs'

function resident(t) {
  t.sample()
  return Object.values(t.totals()).reduce((sum, row) => sum + (row.ws || 0), 0)
}

scenario('test_010_load', () => {
  const header = fs.readFileSync(new URL('../../../include/memtracer/version.h', import.meta.url),
    'utf8')
  assert.equal(version(), /VERSION_STRING "(.*)"/.exec(header)[1])
  assert.equal(require('../index.js').Tracer, Tracer)
})

scenario('test_100_start_and_stop', ({ folder, db }) => {
  new Tracer(db).stop()
  assert.deepEqual(fs.readdirSync(folder), ['t.db'])
  assert.deepEqual(ask(db, 'SELECT state FROM run'), [{ state: 'stopped' }])
})

scenario('test_110_defaults', ({ db }) => {
  new Tracer(db).stop()
  const name = fs.readFileSync('/proc/self/comm', 'utf8').trim()
  assert.deepEqual(ask(db, 'SELECT interval_ms, label FROM run'),
    [{ interval_ms: 1000, label: name }])
})

scenario('test_120_options', ({ db }) => {
  assert.throws(() => new Tracer(db, { flags: 0x80000000 }), { code: 'TRACER_EINVAL' })
  for (const intervalMs of [-1, 2 ** 32 + 1000])
    assert.throws(() => new Tracer(db, { intervalMs }), { code: 'TRACER_EINVAL' })
  assert.ok(!fs.existsSync(db))
})

scenario('test_200_mark', ({ db }) => {
  const label = "reload 'ü' \\ </script>"
  const t = new Tracer(db)
  t.mark(label)
  t.stop()
  assert.deepEqual(ask(db, 'SELECT label FROM mark'), [{ label }])
})

scenario('test_210_own_type', ({ db }) => {
  const pool = Buffer.allocUnsafeSlow(8 * MIB).fill(1)
  const t = new Tracer(db)
  const type = t.addType('pool', 'of the test')
  t.claim(pool, type, 'the pool')
  t.sample()
  near(t.totals().pool.ws, 8 * MIB, 8192)
  t.unclaim(pool)
  t.sample()
  assert.equal(t.totals().pool.ws, 0)
  t.stop()
  assert.equal(type, constants.TYPE_USER_FIRST)
})

scenario('test_220_counters', ({ db }) => {
  const t = new Tracer(db)
  const counter = t.addCounter('entries', { description: 'of the cache' })
  counter.set(3)
  t.sample()
  counter.set(-4)
  t.stop()
  assert.deepEqual(ask(db, "SELECT value FROM counter JOIN counter_kind k ON k.id = counter " +
    "WHERE k.name = 'entries' AND k.unit = 'count' ORDER BY sample"), [{ value: 3 }, { value: -4 }])
  assert.throws(() => new Tracer(db).addCounter('threads'), { code: 'TRACER_EINVAL' })
})

scenario('test_300_grow', ({ db }) => {
  const t = new Tracer(db)
  resident(t)
  const before = resident(t)
  const pool = Buffer.allocUnsafeSlow(32 * MIB).fill(1)
  near(resident(t) - before, 32 * MIB, 2 * MIB)
  t.stop()
  assert.equal(pool[0], 1)
})

scenario('test_310_shrink', async ({ db }) => {
  const t = new Tracer(db)
  const before = resident(t)
  let pool = new ArrayBuffer(32 * MIB)
  new Uint8Array(pool).fill(1)
  near(resident(t) - before, 32 * MIB, 2 * MIB)
  structuredClone(null, { transfer: [pool] }) // the copy has no owner from here on
  pool = null
  // V8 frees the copy in a later collection, and its memory by a thread, when it gets round to it;
  // what else of the heap it gives back then is its own affair
  for (const until = Date.now() + 30000; resident(t) > before + 4 * MIB && Date.now() < until;) {
    globalThis.gc()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  assert.ok(resident(t) <= before + 4 * MIB, `${resident(t)} of ${before} before`)
  t.stop()
})

// The steps that the file has of leak().
function leaked(db) {
  const story = Object.fromEntries(ask(db, 'heap_story').map((r) => [r.name, r.grew]))
  near(story.heap, 24 * MIB, MIB)
  assert.ok(Math.abs(story.v8_heap_used) < 2 * MIB, 'the runtime: ' + story.v8_heap_used)
  assert.ok(Math.abs(story.array_buffers) < MIB, 'its buffers: ' + story.array_buffers)
  const steps = ask(db, "SELECT mark, bytes, site FROM punctuated_growth WHERE type = 'heap'")
  assert.equal(steps.length, 6)
  for (const step of steps) {
    assert.equal(step.mark, 'call of the addon')
    near(step.bytes, 4 * MIB, MIB / 2)
  }
  return steps
}

scenario('test_320_native_leak', ({ db }) => {
  leak(db)
  leaked(db)
})

scenario('test_321_leak_site', ({ db, skip }) => {
  const stacks = process.env.MEMTRACER_STACKS
  if (!stacks) return skip('MEMTRACER_STACKS does not name libmemtracer-stacks')
  execFileSync(process.execPath, [leaker, db, constants.F_STACKS],
    { env: { ...process.env, LD_PRELOAD: stacks }, stdio: 'inherit' })
  for (const step of leaked(db)) assert.ok(step.site.startsWith(addon + '+0x'), step.site)
  if (!process.env.MEMTRACER_CLI) return
  const told = execFileSync(process.env.MEMTRACER_CLI, ['steps', '--json', db])
  for (const step of JSON.parse(told).steps) assert.match(step.site, /^leak |\+0x/) // needs libdw
})

scenario('test_400_read', ({ db, skip }) => {
  const cli = process.env.MEMTRACER_CLI
  new Tracer(db).stop()
  const rows = ask(db, 'SELECT * FROM vmmap')
  assert.equal(rows.at(-1).type, 'total')
  if (!cli) return skip('MEMTRACER_CLI does not name the command line')
  const args = ['sql', '--json', db, 'SELECT * FROM vmmap']
  assert.deepEqual(rows, JSON.parse(execFileSync(cli, args, { encoding: 'utf8' })))
})

scenario('test_500_errors', ({ folder }) => {
  const missing = path.join(folder, 'none', 'x.db')
  assert.throws(() => new Tracer(missing), (e) =>
    e instanceof Error && e.code === 'TRACER_EIO' && e.message.includes(missing))
  assert.throws(() => new Recording(missing), { code: 'TRACER_EIO' })
})
