// SPDX-License-Identifier: MIT
// Builds the addon with the C compiler alone: node build.js [SOURCE... -o FILE.node]
//
// Needs the headers of Node-API, which stand beside Node, or in NODE_INCLUDE, or in the package
// node-api-headers; and the library, which pkg-config finds. Nothing is downloaded.
'use strict'

const { execFileSync } = require('child_process')
const fs = require('fs')
const path = require('path')

function headers() {
  const prefix = path.dirname(path.dirname(fs.realpathSync(process.execPath)))
  const folders = [process.env.NODE_INCLUDE, path.join(prefix, 'include', 'node'),
    '/usr/include/node', '/usr/include/nodejs/src']
  try {
    folders.push(require('node-api-headers').include_dir)
  } catch {
    // that package is one of several places
  }
  const found = folders.find((f) => f && fs.existsSync(path.join(f, 'node_api.h')))
  if (!found)
    throw new Error('node_api.h is in none of ' + folders.filter(Boolean).join(', ') +
      '; install libnode-dev or the package node-api-headers, or set NODE_INCLUDE')
  return found
}

function words(command, args) {
  return execFileSync(command, args, { encoding: 'utf8' }).trim().split(/\s+/).filter(Boolean)
}

function build(sources, out) {
  const [cc, ...flags] = (process.env.CC || 'cc').split(' ')
  fs.mkdirSync(path.dirname(out), { recursive: true })
  execFileSync(cc, [...flags, '-std=c11', '-O2', '-Wall', '-Wextra', '-fPIC', '-shared',
    '-fvisibility=hidden', '-I' + headers(), ...words('pkg-config', ['--cflags', 'memtracer']),
    ...sources, '-o', out, ...words('pkg-config', ['--libs', 'memtracer'])], { stdio: 'inherit' })
}

const args = process.argv.slice(2)
const at = args.indexOf('-o')
const src = path.join(__dirname, 'src')
build(at > 0 ? args.slice(0, at) : [path.join(src, 'addon.c'), path.join(src, 'addon_reader.c')],
  at >= 0 ? args[at + 1] : path.join(__dirname, 'build', 'memtracer.node'))
