// SPDX-License-Identifier: MIT
// C++ over memtracer.h: a tracer that stops when it goes out of scope. Header only, C++11.
//
//     memtracer::trace t{"app.db"};
//     t.mark("cache filled");
//
// Every function exists twice: it throws memtracer::error, or, with a std::error_code as its last
// parameter, throws nothing. Threads and fork() as in memtracer.h.
#ifndef MEMTRACER_MEMTRACER_HPP
#define MEMTRACER_MEMTRACER_HPP

#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "memtracer/memtracer.h"

namespace memtracer {

// The category of TRACER_E… codes.
inline const std::error_category &category() noexcept
{
    struct memtracer_category : std::error_category {
        const char *name() const noexcept override { return "memtracer"; }
        std::string message(int code) const override { return tracer_strerror(code); }
    };
    static const memtracer_category instance;
    return instance;
}

// What is thrown: code() is a TRACER_E… code, what() the sentence that names the thing.
class error : public std::system_error {
public:
    explicit error(int code) : std::system_error(code, category(), tracer_last_error()) {}
};

// Options with their defaults; the fields are those of tracer_options.
struct options : tracer_options {
    options() { tracer_options_init(this, sizeof(tracer_options)); }
};

// A running tracer. Move-only; the destructor stops it and cannot report: call stop() to know.
class trace {
public:
    trace() noexcept = default;
    explicit trace(const std::string &path) { check(tracer_start(path.c_str(), nullptr, &t_)); }
    trace(const std::string &path, const tracer_options &o)
    {
        check(tracer_start(path.c_str(), &o, &t_));
    }
    trace(const std::string &path, const tracer_options &o, std::error_code &ec) noexcept
    {
        set(ec, tracer_start(path.c_str(), &o, &t_));
    }
    trace(const trace &) = delete;
    trace &operator=(const trace &) = delete;
    trace(trace &&other) noexcept : t_(other.release()) {}
    trace &operator=(trace &&other) noexcept
    {
        if (this != &other) {
            tracer_stop(t_);
            t_ = other.release();
        }
        return *this;
    }
    ~trace() { tracer_stop(t_); }

    explicit operator bool() const noexcept { return t_ != nullptr; }
    tracer *get() const noexcept { return t_; }
    tracer *release() noexcept
    {
        tracer *t = t_;
        t_ = nullptr;
        return t;
    }

    void stop() { check(tracer_stop(release())); }
    void stop(std::error_code &ec) noexcept { set(ec, tracer_stop(release())); }
    void sample() { check(tracer_sample(t_)); }
    void sample(std::error_code &ec) noexcept { set(ec, tracer_sample(t_)); }
    void flush() { check(tracer_flush(t_)); }
    void flush(std::error_code &ec) noexcept { set(ec, tracer_flush(t_)); }
    void pause() { check(tracer_pause(t_)); }
    void resume() { check(tracer_resume(t_)); }
    void mark(const std::string &label) { check(tracer_mark(t_, label.c_str())); }
    void mark(const std::string &label, std::error_code &ec) noexcept
    {
        set(ec, tracer_mark(t_, label.c_str()));
    }

    std::uint32_t add_type(const std::string &name, const std::string &description = std::string())
    {
        std::uint32_t type = 0;
        check(tracer_type_add(t_, name.c_str(), description.c_str(), &type));
        return type;
    }
    void claim(const void *addr, std::size_t bytes, std::uint32_t type,
               const char *label = nullptr)
    {
        check(tracer_claim(t_, addr, bytes, type, label));
    }
    void unclaim(const void *addr, std::size_t bytes) { check(tracer_unclaim(t_, addr, bytes)); }

    // The newest bytes per type.
    std::vector<tracer_type_bytes> totals() const
    {
        std::vector<tracer_type_bytes> rows(TRACER_TYPE_CAPACITY);
        tracer_totals all = tracer_totals();
        all.size = sizeof(all);
        all.capacity = TRACER_TYPE_CAPACITY;
        all.types = rows.data();
        check(tracer_get_totals(t_, &all));
        rows.resize(all.n_types);
        return rows;
    }
    tracer_stats stats() const
    {
        tracer_stats s = tracer_stats();
        s.size = sizeof(s);
        check(tracer_get_stats(t_, &s));
        return s;
    }

private:
    static void check(int code)
    {
        if (code)
            throw error(code);
    }
    static void set(std::error_code &ec, int code) noexcept { ec.assign(code, category()); }

    tracer *t_ = nullptr;
};

// Marks "LABEL: begin" now and "LABEL: end" when it goes out of scope.
class mark_scope {
public:
    mark_scope(trace &t, std::string label) : t_(t), label_(std::move(label))
    {
        t_.mark(label_ + ": begin");
    }
    mark_scope(const mark_scope &) = delete;
    mark_scope &operator=(const mark_scope &) = delete;
    ~mark_scope()
    {
        tracer_mark(t_.get(), (label_ + ": end").c_str());
    }

private:
    trace &t_;
    std::string label_;
};

} // namespace memtracer

#endif
