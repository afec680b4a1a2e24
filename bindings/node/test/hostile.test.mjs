// SPDX-License-Identifier: MIT
// The scenarios of bindings/contract/README.md that careless programs run into, in Node.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { constants, Recording, Tracer } from '../index.mjs'
import { ask, native, scenario } from './support.mjs'

const index = fileURLToPath(new URL('../index.js', import.meta.url))

scenario('test_501_not_a_recording', ({ db }) => {
  fs.writeFileSync(db, 'a letter')
  assert.throws(() => new Tracer(db), { code: 'TRACER_EDB' })
  assert.throws(() => new Recording(db), { code: 'TRACER_EDB' })
  assert.equal(fs.readFileSync(db, 'utf8'), 'a letter')
})

scenario('test_510_stop_twice', ({ db }) => {
  const t = new Tracer(db)
  t.stop()
  t.stop()
})

scenario('test_511_after_stop', ({ db }) => {
  const t = new Tracer(db, { runtimeCounters: true })
  const counter = t.addCounter('entries')
  t.stop()
  const calls = [() => t.mark('late'), () => t.sample(), () => t.flush(), () => t.pause(),
    () => t.resume(), () => t.totals(), () => t.stats(), () => t.lastProblem(),
    () => t.addType('late'), () => t.addCounter('late'), () => counter.set(1),
    () => t.claim(Buffer.alloc(9), constants.TYPE_HEAP), () => t.unclaim(Buffer.alloc(9))]
  for (const call of calls) assert.throws(call, { code: 'TRACER_ESTATE' })
  assert.deepEqual(ask(db, 'SELECT * FROM mark'), [])
})

scenario('test_520_start_twice', ({ db }) => {
  const t = new Tracer(db)
  assert.throws(() => new Tracer(db), { code: 'TRACER_ESTATE' })
  t.mark('goes on')
  t.stop()
  assert.deepEqual(ask(db, 'SELECT m.label, state FROM mark m JOIN run'),
    [{ label: 'goes on', state: 'stopped' }])
})

scenario('test_530_long_label', ({ db }) => {
  const t = new Tracer(db, { label: '€'.repeat(1000) })
  t.mark('x' + 'ü'.repeat(1000))
  t.stop()
  assert.deepEqual(ask(db, 'SELECT label FROM mark'), [{ label: 'x' + 'ü'.repeat(127) }])
  const [{ label }] = ask(db, 'SELECT label FROM run')
  assert.equal(label, '€'.repeat(label.length))
})

// Half a surrogate pair has no UTF-8; bytes that are none come from C.
scenario('test_540_no_utf8', ({ db }) => {
  const t = new Tracer(db)
  t.mark('a \ud83d b')
  native.markBytes(t.handle, Buffer.from('6120fffe2062', 'hex'))
  t.stop()
  assert.deepEqual(ask(db, 'SELECT label FROM mark ORDER BY id'),
    [{ label: 'a \ufffd b' }, { label: 'a \ufffd\ufffd b' }])
  assert.equal(ask(db, 'SELECT hex(label) AS h FROM mark ORDER BY id DESC')[0].h, '6120FFFE2062')
})

scenario('test_550_nul_inside', ({ db, folder }) => {
  const t = new Tracer(db)
  const calls = [() => t.mark('a\0b'), () => t.addType('a\0b'), () => t.addCounter('a\0b'),
    () => new Tracer(db + '\0b'), () => new Recording(db + '\0b')]
  for (const call of calls) assert.throws(call, { code: 'TRACER_EINVAL' })
  t.stop()
  assert.deepEqual(ask(db, 'SELECT * FROM mark'), [])
  assert.deepEqual(fs.readdirSync(folder), ['t.db'])
})

// In a function of its own: an async one keeps its temporary values.
function forget(db, options) {
  new Tracer(db, options).mark('then forgotten')
}

scenario('test_560_forgotten', async ({ db, folder }) => {
  forget(db)
  forget(db + '2', { runtimeCounters: true, intervalMs: 10 })
  const done = () => fs.readdirSync(folder).join() === 't.db,t.db2'
  for (let tries = 0; tries < 100 && !done(); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    globalThis.gc()
  }
  for (const file of [db, db + '2'])
    assert.deepEqual(ask(file, 'SELECT m.label, state FROM mark m JOIN run'),
      [{ label: 'then forgotten', state: 'stopped' }])
})

// Neither the end of a worker nor process.exit() collects anything.
scenario('test_561_C21_end_of_program', ({ db }) => {
  const program = `
    const { Tracer } = require(${JSON.stringify(index)})
    const { isMainThread, Worker } = require('worker_threads')
    const db = ${JSON.stringify(db)}
    if (isMainThread) {
      globalThis.held = new Tracer(db)
      held.mark('main')
      new Worker(process.argv[1]).on('exit', () => process.exit(0))
    } else {
      globalThis.held = new Tracer(db + '2', { runtimeCounters: true })
      held.mark('worker')
      process.exit(0)
    }`
  fs.writeFileSync(db + '.cjs', program)
  execFileSync(process.execPath, [db + '.cjs'], { stdio: 'inherit' })
  for (const [file, label] of [[db, 'main'], [db + '2', 'worker']])
    assert.deepEqual(ask(file, 'SELECT m.label, state FROM mark m JOIN run'),
      [{ label, state: 'stopped' }])
})

// JavaScript hands over anything.
scenario('test_570_strange_values', ({ db, folder }) => {
  const t = new Tracer(pathToFileURL(db), null)
  for (const path of [undefined, null, 3, Symbol('x'), {}])
    assert.throws(() => new Tracer(path), TypeError)
  const counter = t.addCounter('entries')
  for (const value of ['many', NaN, Infinity, {}])
    assert.throws(() => counter.set(value), { code: 'TRACER_EINVAL' })
  for (const call of [() => t.mark(), () => t.mark(3), () => t.mark(''), () => t.claim('abc', 4),
    () => t.claim(new ArrayBuffer(0), 4), () => t.claim(Buffer.alloc(9), 'heap')])
    assert.throws(call, { code: 'TRACER_EINVAL' })
  t.stop()
  const recording = new Recording(db)
  for (const params of ['x', null, Array(33).fill(1)])
    assert.throws(() => recording.rows('SELECT ?1', params), { code: 'TRACER_EINVAL' })
  recording.close()
  assert.throws(() => recording.rows('SELECT 1'), { code: 'TRACER_EINVAL' })
  assert.deepEqual(fs.readdirSync(folder), ['t.db'])
})

scenario('test_610_C21_fork', ({ db }) => {
  const t = new Tracer(db)
  const code = native.markInChild(t.handle)
  t.stop()
  assert.equal(code, constants.ESTATE)
  assert.deepEqual(ask(db, 'SELECT label FROM mark'), [])
})

scenario('test_611_C21_own_in_child', ({ db }) => {
  const t = new Tracer(db)
  const other = db + '.child'
  assert.equal(native.recordInChild(t.handle, other), 0)
  t.mark('parent')
  t.stop()
  for (const [file, label] of [[db, 'parent'], [other, 'child']])
    assert.deepEqual(ask(file, 'SELECT m.label, state FROM mark m JOIN run'),
      [{ label, state: 'stopped' }])
})
