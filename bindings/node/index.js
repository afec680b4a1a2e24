// SPDX-License-Identifier: MIT
// memtracer for Node: which kind of memory does this process hold, and when did it grow?
//
//     const { Tracer, Recording } = require('memtracer')
//     const t = new Tracer('app.db', { runtimeCounters: true })
//     t.mark('cache filled')
//     t.stop()
//     new Recording('app.db').rows('SELECT * FROM punctuated_growth')
//
// The sampler is a native thread that never calls into JavaScript. The file is described in
// memtracer(7).
'use strict'

const path = require('path')
const { fileURLToPath } = require('url')
const v8 = require('v8')
const constants = require('./constants.json')
const native = require(process.env.MEMTRACER_ADDON || path.join(__dirname, 'build/memtracer.node'))

const COLUMNS = constants.COLUMNS
const STATES = {}
const TYPES = {}
for (const [name, value] of Object.entries(constants)) {
  if (name.startsWith('STATE_')) STATES[value] = name.slice(6).toLowerCase()
  if (name.startsWith('TYPE_')) TYPES[value] = name.slice(5).toLowerCase()
}

// What V8 and Node say of themselves, in bytes.
const RUNTIME = {
  v8_heap_used: ['live and dead objects in V8\'s heap', (h) => h.used_heap_size],
  v8_heap_total: ['V8\'s heap, used and kept', (h) => h.total_heap_size],
  v8_malloced: ['malloc by V8 itself', (h) => h.malloced_memory],
  v8_external: ['native memory that objects own, as told to V8', (h) => h.external_memory],
  array_buffers: ['memory of ArrayBuffer and Buffer', (h, m) => m.arrayBuffers],
}

function refuse(code, message) {
  throw Object.assign(new Error(message), { code })
}

// C reads a text up to the first NUL.
function whole(text) {
  return typeof text === 'string' && text.includes('\0')
    ? refuse('TRACER_EINVAL', 'the text has a NUL inside: ' + JSON.stringify(text)) : text
}

// The path of a file that is named by a string, a URL or a Buffer.
function pathOf(file) {
  if (file instanceof URL) return fileURLToPath(file)
  if (typeof file === 'string' || Buffer.isBuffer(file)) return whole(String(file))
  throw new TypeError('the path is no string, URL or Buffer: ' + String(file))
}

// The handle, while C knows it.
function open({ handle }) {
  return native.running(handle) ? handle : refuse('TRACER_ESTATE', 'the tracer is stopped')
}

class Counter {
  constructor(tracer, name, unit, description) {
    this.handle = open(tracer)
    this.id = native.counterAdd(this.handle, whole(name), whole(unit), whole(description))
  }

  /** The value as of now; the next sample stores it. */
  set(value) {
    if (!Number.isFinite(value = Number(value)))
      refuse('TRACER_EINVAL', 'the value of a counter is ' + value)
    native.counterSet(open(this), this.id, value)
  }
}

// Sets what V8 says once an interval, until stopped or until nobody holds the tracer any more.
class Runtime {
  constructor(tracer) {
    this.kinds = Object.entries(RUNTIME).map(([name, [description, read]]) =>
      [new Counter(tracer, name, 'bytes', description), read])
    this.count()
  }

  // Apart from the constructor, whose closures hold the tracer.
  watch(held, intervalMs) {
    this.timer = setInterval(() => held.deref() ? this.count() : this.stop(), intervalMs)
    this.timer.unref()
    return this
  }

  count() {
    const heap = v8.getHeapStatistics()
    const memory = process.memoryUsage()
    try {
      for (const [counter, read] of this.kinds) counter.set(read(heap, memory))
    } catch {
      this.stop() // recording has ended by itself, as stop() of the tracer will say
    }
  }

  stop() {
    clearInterval(this.timer)
  }
}

// Tracers that nobody has stopped yet; process.exit() leaves without collecting them.
const running = new Set()
process.on('exit', () => {
  for (const held of running) {
    try {
      held.deref()?.stop()
    } catch {
      // the program ends, and what is wrong stands in the file
    }
  }
})

class Tracer {
  /** Records this process (or `pid`) into the file `path` until stop(), until it is collected, or
   * until the program or worker ends. */
  constructor(path, options) {
    options = options || {}
    this.handle = native.start(pathOf(path), options, whole(options.label))
    this.types = { ...TYPES }
    this.held = new WeakRef(this)
    for (const held of running) if (!held.deref()) running.delete(held)
    running.add(this.held)
    if (options.runtimeCounters)
      this.runtime = new Runtime(this).watch(this.held, options.intervalMs || 1000)
  }

  /** Takes a last sample and closes the file. Stopping again does nothing. */
  stop() {
    if (!native.running(this.handle)) return
    running.delete(this.held)
    if (this.runtime) this.runtime.stop()
    this.countRuntime()
    native.stop(this.handle)
  }

  countRuntime() {
    if (this.runtime && native.running(this.handle)) this.runtime.count()
  }

  /** Notes that something happened now. */
  mark(label) {
    this.countRuntime()
    native.mark(open(this), whole(label))
  }

  /** Takes one full sample now, and waits for it. */
  sample() {
    this.countRuntime()
    native.sample(open(this))
  }

  flush() {
    native.flush(open(this))
  }

  pause() {
    native.pause(open(this))
  }

  resume() {
    native.resume(open(this))
  }

  /** Adds a memory type of the program's own, or finds the one of that name. */
  addType(name, description) {
    const type = native.typeAdd(open(this), whole(name), whole(description))
    this.types[type] = name
    return type
  }

  /** The memory of an ArrayBuffer or Buffer belongs to `type` from the next sample on. */
  claim(buffer, type, label) {
    native.claim(open(this), buffer, type, whole(label))
  }

  unclaim(buffer) {
    native.unclaim(open(this), buffer)
  }

  /** Adds a counter of the program's own, or finds the one of that name. */
  addCounter(name, { unit = 'count', description } = {}) {
    return new Counter(this, name, unit, description)
  }

  /** {type: {column: bytes or null}} of the newest sample. */
  totals() {
    const result = {}
    for (const [type, known, ...values] of native.totals(open(this)))
      result[this.types[type] || String(type)] = Object.fromEntries(
        COLUMNS.map((c, i) => [c, (known >>> i) & 1 ? values[i] : null]))
    return result
  }

  /** What the tracer did and cost. */
  stats() {
    const stats = native.stats(open(this))
    return { ...stats, state: STATES[stats.state] || String(stats.state) }
  }

  lastProblem() {
    return native.lastProblem(open(this))
  }
}

class Recording {
  /** Opens a memtracer file read-only, also while it is being recorded. */
  constructor(path) {
    this.handle = native.readerOpen(pathOf(path))
  }

  /** Runs one SELECT, or a query that memtracer brings by its name; rows as objects. */
  rows(sql, params = []) {
    if (!Array.isArray(params) || params.length > native.paramsMax)
      refuse('TRACER_EINVAL', `the parameters are no array of ${native.paramsMax} at most`)
    return native.readerQuery(this.handle, whole(sql), params)
  }

  /** View punctuated_growth: the steps in which memory grew and stayed. */
  steps() {
    return this.rows('SELECT * FROM punctuated_growth')
  }

  close() {
    native.readerClose(this.handle)
  }
}

if (Symbol.dispose) {
  Tracer.prototype[Symbol.dispose] = Tracer.prototype.stop
  Recording.prototype[Symbol.dispose] = Recording.prototype.close
}

module.exports = { Tracer, Recording, Counter, constants, version: native.version }
