// SPDX-License-Identifier: MIT
// bindings/cpp: what the scenarios need of Windows. Included once, by support.hpp.
#ifndef MEMTRACER_BINDINGS_CPP_SYSTEM_HPP
#define MEMTRACER_BINDINGS_CPP_SYSTEM_HPP

#include <dirent.h>
#include <unistd.h>
#include <windows.h>
#undef near // of 16-bit compilers

namespace
{

const std::string separator = "\\"; // in paths, as the system writes them

// A folder that nobody has.
std::string new_folder()
{
    char temporary[MAX_PATH], name[MAX_PATH];

    need(GetTempPathA(sizeof(temporary), temporary) && GetTempFileNameA(temporary, "mt", 0, name) &&
             DeleteFileA(name) && CreateDirectoryA(name, nullptr),
         "a folder can be made");
    return name;
}

char *map_pages(std::size_t bytes)
{
    void *at = VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);

    need(at != nullptr, "memory can be mapped");
    return static_cast<char *>(std::memset(at, 1, bytes));
}

void unmap_pages(char *at, std::size_t)
{
    VirtualFree(at, 0, MEM_RELEASE);
}

// The name that a run has when none is given.
std::string program_name()
{
    char path[MAX_PATH];
    std::string name(path, GetModuleFileNameA(nullptr, path, sizeof(path)));

    return name.substr(name.find_last_of('\\') + 1);
}

std::string told(const std::string &)
{
    throw skipped("the command line is not run by this program");
}

typedef void (*leak_fn)(std::size_t);
leak_fn leak_of(const char *)
{
    return nullptr;
}

int in_child(const std::function<void(std::error_code &)> &)
{
    throw skipped("there is no fork()");
}

} // namespace

#endif
