// SPDX-License-Identifier: MIT
import memtracer from './index.js'

export const { Tracer, Recording, Counter, constants, version } = memtracer
export default memtracer
