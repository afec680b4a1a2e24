// SPDX-License-Identifier: MIT

/** What a failed call throws: `code` is "TRACER_EIO" and so on, the message names the thing. */
export interface MemtracerError extends Error {
  code: string
}

export interface Options {
  /** Between ticks, 1 to 3,600,000; default 1000. */
  intervalMs?: number
  /** The most that a crash may lose; default 1000. */
  commitMs?: number
  /** CPU time of a tick aimed at; default 1 % of the interval. */
  budgetNs?: number
  /** Cap of the file, at least 1 MiB; default none. */
  maxFileBytes?: number
  /** Names the run in the file; default the program's name. */
  label?: string
  /** Another process, watched from outside; default this one. */
  pid?: number
  /** Bits F_… of `constants`. */
  flags?: number
  /** With F_STACKS: the least malloc() that counts; default 128 KiB. */
  stackMinBytes?: number
  /** Puts what V8 says of its heap beside the samples; default false. */
  runtimeCounters?: boolean
}

export type Column =
  | 'size' | 'committed' | 'charged' | 'private' | 'ws' | 'ws_private' | 'ws_shareable'
  | 'ws_shared' | 'pss' | 'swap' | 'locked' | 'huge' | 'lazy_free' | 'blocks' | 'largest'

export type Totals = Record<string, Record<Column, number | null>>

export interface Stats {
  state: string
  ticks: number
  missed: number
  failed: number
  costWallNs: number
  costCpuNs: number
  longestTickNs: number
  /** address space the tracer has reserved, little of it touched */
  ownBytes: number
  fileBytes: number
  dropped: number
}

export type Value = number | bigint | string | Buffer | null

export class Counter {
  private constructor()
  readonly id: number
  set(value: number): void
}

export class Tracer {
  constructor(path: string | URL, options?: Options)
  stop(): void
  mark(label: string): void
  sample(): void
  flush(): void
  pause(): void
  resume(): void
  addType(name: string, description?: string): number
  claim(buffer: ArrayBuffer | Buffer, type: number, label?: string): void
  unclaim(buffer: ArrayBuffer | Buffer): void
  addCounter(name: string, options?: { unit?: string; description?: string }): Counter
  totals(): Totals
  stats(): Stats
  lastProblem(): string
}

export class Recording {
  constructor(path: string | URL)
  rows(sql: string, params?: Array<number | bigint | string | null>): Array<Record<string, Value>>
  steps(): Array<Record<string, Value>>
  close(): void
}

export const constants: Readonly<Record<string, number>> & { readonly COLUMNS: readonly Column[] }

export function version(): string
