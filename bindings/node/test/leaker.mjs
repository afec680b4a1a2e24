// SPDX-License-Identifier: MIT
// Leaks six times in the addon, each after a mark: leaker.mjs DB FLAGS
import { fileURLToPath } from 'node:url'
import { Tracer } from '../index.mjs'
import { MIB, native } from './support.mjs'

export const leaker = fileURLToPath(import.meta.url)

export function leak(db, flags = 0) {
  const t = new Tracer(db, { flags, runtimeCounters: true })
  t.pause() // no tick of the timer falls into a leak
  t.sample()
  for (let i = 0; i < 6; i++) {
    t.mark('call of the addon')
    native.leak(4 * MIB)
    t.sample()
  }
  t.stop()
}

if (process.argv[1] === leaker) leak(process.argv[2], Number(process.argv[3]))
