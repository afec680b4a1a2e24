// SPDX-License-Identifier: MIT
// The scenarios of bindings/contract/README.md that careless programs run into, in Node.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { constants, Recording, Tracer } from '../index.mjs'
import { ask, native, scenario } from './support.mjs'

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

scenario('test_610_fork', ({ db }) => {
  const t = new Tracer(db)
  const code = native.markInChild(t.handle)
  t.stop()
  assert.equal(code, constants.ESTATE)
  assert.deepEqual(ask(db, 'SELECT label FROM mark'), [])
})

scenario('test_611_own_in_child', ({ db }) => {
  const t = new Tracer(db)
  const other = db + '.child'
  assert.equal(native.recordInChild(t.handle, other), 0)
  t.mark('parent')
  t.stop()
  for (const [file, label] of [[db, 'parent'], [other, 'child']])
    assert.deepEqual(ask(file, 'SELECT m.label, state FROM mark m JOIN run'),
      [{ label, state: 'stopped' }])
})
