// SPDX-License-Identifier: MIT
// bindings/cpp: what the scenarios stand on: facts, folders, memory of a known size, and an
// operator new that counts. Included once.
#ifndef MEMTRACER_BINDINGS_CPP_SUPPORT_HPP
#define MEMTRACER_BINDINGS_CPP_SUPPORT_HPP

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <memtracer/memtracer.hpp>

namespace
{

std::int64_t cpp_bytes; // handed out by operator new; one thread uses it
const std::size_t header_bytes = alignof(std::max_align_t);

} // namespace

// Not inlined: the compiler takes what it sees of one for a block that the other must not free.
[[gnu::noinline]] void *operator new(std::size_t bytes)
{
    void *block = std::malloc(bytes + header_bytes);

    if (!block)
        throw std::bad_alloc();
    std::memcpy(block, &bytes, sizeof(bytes));
    cpp_bytes += static_cast<std::int64_t>(bytes);
    return static_cast<char *>(block) + header_bytes;
}

[[gnu::noinline]] void operator delete(void *block) noexcept
{
    std::size_t bytes;

    if (!block)
        return;
    block = static_cast<char *>(block) - header_bytes;
    std::memcpy(&bytes, block, sizeof(bytes));
    cpp_bytes -= static_cast<std::int64_t>(bytes);
    std::free(block);
}

void operator delete(void *block, std::size_t) noexcept
{
    operator delete(block);
}

namespace
{

const std::int64_t MIB = 1 << 20;

struct skipped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void need(bool truth, const std::string &what)
{
    if (!truth)
        throw std::logic_error("not so: " + what);
}

void near(std::int64_t value, std::int64_t expected, std::int64_t tolerance)
{
    need(std::llabs(value - expected) <= tolerance,
         std::to_string(value) + " is " + std::to_string(expected));
}

std::string content(const std::string &path)
{
    std::ifstream file(path);
    std::stringstream text;

    text << file.rdbuf();
    return text.str();
}

} // namespace

#include <system.hpp> // of posix/ or windows/

namespace
{

struct place {
    std::string folder, db;

    place()
    {
        folder = new_folder();
        db = folder + "/t.db";
    }
    ~place()
    {
        for (const std::string &file : files())
            unlink((folder + "/" + file).c_str());
        rmdir(folder.c_str());
    }
    std::vector<std::string> files() const
    {
        std::vector<std::string> names;
        DIR *d = opendir(folder.c_str());

        while (dirent *entry = readdir(d))
            if (entry->d_name[0] != '.')
                names.push_back(entry->d_name);
        closedir(d);
        return names;
    }
    std::vector<memtracer::row> ask(const std::string &sql) const
    {
        return memtracer::recording(db).rows(sql);
    }
};

// `ws` of a type in a new sample, or of all.
std::int64_t resident(memtracer::trace &t, std::uint32_t type = 0)
{
    std::int64_t sum = 0;

    t.sample();
    for (const tracer_type_bytes &row : t.totals())
        if (!type || row.type == type)
            sum += static_cast<std::int64_t>(row.ws_bytes);
    return sum;
}

} // namespace

#endif
