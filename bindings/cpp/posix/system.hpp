// SPDX-License-Identifier: MIT
// bindings/cpp: what the scenarios need of a POSIX system. Included once, by support.hpp.
#ifndef MEMTRACER_BINDINGS_CPP_SYSTEM_HPP
#define MEMTRACER_BINDINGS_CPP_SYSTEM_HPP

#include <dirent.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

const std::string separator = "/"; // in paths, as the system writes them

// A folder that nobody has.
std::string new_folder()
{
    char name[] = "/tmp/memtracer-XXXXXX";

    need(mkdtemp(name) != nullptr, "a folder can be made");
    return name;
}

char *map_pages(std::size_t bytes)
{
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    need(at != MAP_FAILED, "memory can be mapped");
    return static_cast<char *>(std::memset(at, 1, bytes));
}

void unmap_pages(char *at, std::size_t bytes)
{
    munmap(at, bytes);
}

// The name that a run has when none is given.
std::string program_name()
{
    std::string name = content("/proc/self/comm");

    return name.substr(0, name.size() - 1);
}

// What a command of the shell prints.
std::string told(const std::string &command)
{
    FILE *pipe = popen(command.c_str(), "r");
    std::string text;
    int c;

    while (pipe && (c = std::fgetc(pipe)) != EOF)
        text += static_cast<char>(c);
    if (pipe)
        pclose(pipe);
    return text;
}

// A plugin's function that leaks; NULL when there is none.
typedef void (*leak_fn)(std::size_t);
leak_fn leak_of(const char *plugin)
{
    void *library = dlopen(plugin, RTLD_NOW);

    return library ? reinterpret_cast<leak_fn>(dlsym(library, "contract_leak")) : nullptr;
}

// The code of what `body` says in a forked child.
int in_child(const std::function<void(std::error_code &)> &body)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        std::error_code ec;
        body(ec);
        _exit(-ec.value());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? -WEXITSTATUS(status) : 1;
}

} // namespace

#endif
