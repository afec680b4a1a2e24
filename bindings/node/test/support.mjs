// SPDX-License-Identifier: MIT
// What the scenarios in Node stand on: a folder each, questions to a file.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { Recording } from '../index.mjs'

export const require = createRequire(import.meta.url)
export const addon = process.env.MEMTRACER_TEST_ADDON ||
  fileURLToPath(new URL('../build/native.node', import.meta.url))
export const native = require(addon)
export const MIB = 1 << 20

export function scenario(name, body) {
  test(name, async (context) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'memtracer-'))
    try {
      await body({ folder, db: path.join(folder, 't.db'), skip: (why) => context.skip(why) })
    } finally {
      fs.rmSync(folder, { recursive: true })
    }
  })
}

export function ask(db, sql) {
  const recording = new Recording(db)
  try {
    return recording.rows(sql)
  } finally {
    recording.close()
  }
}

export function near(value, expected, tolerance) {
  assert.ok(Math.abs(value - expected) <= tolerance, `${value} is not ${expected} ± ${tolerance}`)
}
