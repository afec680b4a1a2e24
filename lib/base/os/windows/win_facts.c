/* SPDX-License-Identifier: MIT */
/* base/os/windows: what table run says about the host, the process and its limits.
 * In: a process id. Out: struct mt_os_facts. Called by sampler/ once a run, in its own thread.
 * Uses: RtlGetVersion (GetVersionEx tells old programs an old version), QueryFullProcessImageNameW,
 * GlobalMemoryStatusEx, Toolhelp, QueryInformationJobObject; ntdll!wine_get_version. */
#include "base/os/os.h"
#include "base/os/windows/win_api.h"

#include <stdio.h>
#include <string.h>
#include <tlhelp32.h>

#define NS_PER_UNIT 100
#define UNITS_1601_TO_1970 INT64_C(116444736000000000)

static void read_system(struct mt_os_facts *out)
{
    FARPROC found = mt_win_procedure("ntdll.dll", "RtlGetVersion");
    FARPROC wine = mt_win_procedure("ntdll.dll", "wine_get_version");
    LONG(WINAPI * get_version)(OSVERSIONINFOW *);
    const char *(*wine_version)(void);
    OSVERSIONINFOW v = {.dwOSVersionInfoSize = sizeof(v)};
    wchar_t host[256];
    DWORD units = sizeof(host) / sizeof(host[0]);
    int used = 0;

    memcpy(&get_version, &found, sizeof(get_version));
    memcpy(&wine_version, &wine, sizeof(wine_version));
    if (GetComputerNameExW(ComputerNameDnsHostname, host, &units))
        mt_win_utf8(host, units, out->host, sizeof(out->host));
    if (get_version && get_version(&v) == 0)
        used = snprintf(out->os, sizeof(out->os), "Windows %lu.%lu.%lu", v.dwMajorVersion,
                        v.dwMinorVersion, v.dwBuildNumber);
    if (wine_version)
        snprintf(out->os + used, sizeof(out->os) - (size_t)used, " (Wine %.40s)", wine_version());
}

/* The last part of the path, as Linux has a short name too. */
static void read_exe(HANDLE process, struct mt_os_facts *out)
{
    wchar_t path[1024];
    DWORD units = sizeof(path) / sizeof(path[0]);
    const char *name;

    if (!QueryFullProcessImageNameW(process, 0, path, &units) ||
        !mt_win_utf8(path, units, out->exe, sizeof(out->exe)))
        return;
    name = strrchr(out->exe, '\\');
    snprintf(out->name, sizeof(out->name), "%.63s", name ? name + 1 : out->exe);
}

static void read_start(HANDLE process, struct mt_os_facts *out)
{
    FILETIME start, end, kernel, user;

    if (GetProcessTimes(process, &start, &end, &kernel, &user))
        out->process_start_ns =
            ((int64_t)((uint64_t)start.dwHighDateTime << 32 | start.dwLowDateTime) -
             UNITS_1601_TO_1970) *
            NS_PER_UNIT;
}

static void read_parent(uint32_t pid, struct mt_os_facts *out)
{
    HANDLE list = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    PROCESSENTRY32W entry = {.dwSize = sizeof(entry)};

    if (list == INVALID_HANDLE_VALUE)
        return;
    for (BOOL more = Process32FirstW(list, &entry); more; more = Process32NextW(list, &entry))
        if (entry.th32ProcessID == pid)
            out->parent_pid = (int64_t)entry.th32ParentProcessID;
    CloseHandle(list);
}

/* A job is what a container is made of here. Only the caller's own can be asked. */
static void read_job(uint32_t pid, struct mt_os_facts *out)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION job;

    if (pid != GetCurrentProcessId() ||
        !QueryInformationJobObject(NULL, JobObjectExtendedLimitInformation, &job, sizeof(job),
                                   NULL))
        return;
    if (job.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_JOB_MEMORY)
        out->cgroup_limit_bytes = (int64_t)job.JobMemoryLimit;
    else if (job.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_PROCESS_MEMORY)
        out->cgroup_limit_bytes = (int64_t)job.ProcessMemoryLimit;
}

void mt_os_facts_read(uint32_t pid, struct mt_os_facts *out)
{
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
    MEMORYSTATUSEX memory = {.dwLength = sizeof(memory)};

    memset(out, 0, sizeof(*out));
    out->parent_pid = -1;
    out->host_memory_bytes = -1;
    out->cgroup_limit_bytes = -1;
    out->address_limit_bytes = -1;
    out->data_limit_bytes = -1;
    out->max_regions = -1;
    out->process_start_ns = -1;
    snprintf(out->allocator, sizeof(out->allocator), "Windows heap");
    read_system(out);
    if (GlobalMemoryStatusEx(&memory))
        out->host_memory_bytes = (int64_t)memory.ullTotalPhys;
    read_parent(pid, out);
    read_job(pid, out);
    if (!process)
        return;
    read_exe(process, out);
    read_start(process, out);
    CloseHandle(process);
}
