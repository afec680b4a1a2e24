// SPDX-License-Identifier: MIT
// C++ over memtracer.h: a tracer that stops when it goes out of scope. Header only, C++11.
//
//     memtracer::trace t{"app.db"};
//     t.mark("cache filled");
//     ...
//     for (auto &row : memtracer::recording{"app.db"}.rows("SELECT * FROM vmmap"))
//         use(row.text("type"), row.integer("ws"));
//
// Functions throw memtracer::error; those with a std::error_code as their last parameter throw
// nothing. Threads and fork() as in memtracer.h.
#ifndef MEMTRACER_MEMTRACER_HPP
#define MEMTRACER_MEMTRACER_HPP

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "memtracer/memtracer.h"
#include "memtracer/reader.h"

namespace memtracer
{

// The category of TRACER_E… codes.
inline const std::error_category &category() noexcept
{
    struct memtracer_category : std::error_category {
        const char *name() const noexcept override
        {
            return "memtracer";
        }
        std::string message(int code) const override
        {
            return tracer_strerror(code);
        }
    };
    static const memtracer_category instance;
    return instance;
}

// What is thrown: code() is a TRACER_E… code, what() the sentence that names the thing.
class error : public std::system_error
{
  public:
    explicit error(int code) : std::system_error(code, category(), tracer_last_error())
    {
    }
};

inline void check(int code)
{
    if (code)
        throw error(code);
}

inline void check(int code, std::error_code &ec) noexcept
{
    ec.assign(code, category());
}

// The text as C takes it. NULL where it goes on after a NUL, which C would not see: what needs a
// text refuses that with TRACER_EINVAL.
inline const char *c_text(const std::string &text) noexcept
{
    return text.find('\0') == std::string::npos ? text.c_str() : nullptr;
}

// Options with their defaults; the fields are those of tracer_options.
struct options : tracer_options {
    options()
    {
        tracer_options_init(this, sizeof(tracer_options));
    }
};

// A counter of the program's own; the next sample stores what was set last. It follows a trace that
// is moved, and refuses with TRACER_ESTATE once the trace has stopped.
class counter
{
  public:
    counter() noexcept = default;
    counter(tracer *t, std::uint32_t number) noexcept : t_(t), number_(number)
    {
    }
    void set(std::int64_t value)
    {
        check(tracer_counter_set(t_, number_, value));
    }
    void set(std::int64_t value, std::error_code &ec) noexcept
    {
        check(tracer_counter_set(t_, number_, value), ec);
    }

  private:
    tracer *t_ = nullptr;
    std::uint32_t number_ = 0;
};

// A running tracer. Move-only; the destructor stops it and cannot report: call stop() to know.
class trace
{
  public:
    trace() noexcept = default;
    explicit trace(const std::string &path)
    {
        check(tracer_start(c_text(path), nullptr, &t_));
    }
    trace(const std::string &path, const tracer_options &o)
    {
        check(tracer_start(c_text(path), &o, &t_));
    }
    trace(const std::string &path, const tracer_options &o, std::error_code &ec) noexcept
    {
        check(tracer_start(c_text(path), &o, &t_), ec);
    }
    trace(const trace &) = delete;
    trace &operator=(const trace &) = delete;
    trace(trace &&other) noexcept : t_(other.release())
    {
    }
    trace &operator=(trace &&other) noexcept
    {
        if (this != &other) {
            tracer_stop(t_);
            t_ = other.release();
        }
        return *this;
    }
    ~trace()
    {
        tracer_stop(t_);
    }

    explicit operator bool() const noexcept
    {
        return t_ != nullptr;
    }
    tracer *get() const noexcept
    {
        return t_;
    }
    tracer *release() noexcept
    {
        tracer *t = t_;
        t_ = nullptr;
        return t;
    }

    void stop()
    {
        check(tracer_stop(release()));
    }
    void stop(std::error_code &ec) noexcept
    {
        check(tracer_stop(release()), ec);
    }
    void sample()
    {
        check(tracer_sample(t_));
    }
    void sample(std::error_code &ec) noexcept
    {
        check(tracer_sample(t_), ec);
    }
    void flush()
    {
        check(tracer_flush(t_));
    }
    void flush(std::error_code &ec) noexcept
    {
        check(tracer_flush(t_), ec);
    }
    void pause()
    {
        check(tracer_pause(t_));
    }
    void resume()
    {
        check(tracer_resume(t_));
    }
    void mark(const std::string &label)
    {
        check(tracer_mark(t_, c_text(label)));
    }
    void mark(const std::string &label, std::error_code &ec) noexcept
    {
        check(tracer_mark(t_, c_text(label)), ec);
    }

    std::uint32_t add_type(const std::string &name, const std::string &description = std::string())
    {
        std::uint32_t type = 0;
        check(tracer_type_add(t_, c_text(name), description.c_str(), &type));
        return type;
    }
    void claim(const void *addr, std::size_t bytes, std::uint32_t type, const char *label = nullptr)
    {
        check(tracer_claim(t_, addr, bytes, type, label));
    }
    void unclaim(const void *addr, std::size_t bytes)
    {
        check(tracer_unclaim(t_, addr, bytes));
    }

    counter add_counter(const std::string &name, const std::string &unit = "count",
                        const std::string &description = std::string())
    {
        std::uint32_t number = 0;
        check(tracer_counter_add(t_, c_text(name), unit.c_str(), description.c_str(), &number));
        return counter(t_, number);
    }
    counter add_counter(const std::string &name, const std::string &unit,
                        const std::string &description, std::error_code &ec) noexcept
    {
        std::uint32_t number = 0;
        check(tracer_counter_add(t_, c_text(name), unit.c_str(), description.c_str(), &number), ec);
        return counter(t_, number);
    }

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
    tracer *t_ = nullptr;
};

// Marks "LABEL: begin" now and "LABEL: end" when it goes out of scope.
class mark_scope
{
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

// A value of an answer.
struct value {
    std::uint32_t kind; // TRACER_VALUE_…
    std::int64_t integer;
    double real;
    std::string text; // of TEXT and BLOB
};

// A row of an answer. Columns are found by number or name; std::out_of_range when there is none.
class row
{
  public:
    row(std::uint32_t n, const char *const *names, const tracer_value *values)
    {
        for (std::uint32_t i = 0; i < n; i++) {
            const tracer_value &v = values[i];
            names_.push_back(names[i]);
            values_.push_back(value{v.kind, v.integer, v.real,
                                    v.bytes ? std::string(v.bytes, v.n_bytes) : std::string()});
        }
    }
    std::size_t size() const noexcept
    {
        return values_.size();
    }
    const std::string &name(std::size_t i) const
    {
        return names_.at(i);
    }
    const value &at(std::size_t i) const
    {
        return values_.at(i);
    }
    const value &at(const std::string &name) const
    {
        for (std::size_t i = 0; i < names_.size(); i++)
            if (names_[i] == name)
                return values_[i];
        throw std::out_of_range("there is no column " + name);
    }
    bool is_null(const std::string &name) const
    {
        return at(name).kind == TRACER_VALUE_NULL;
    }
    std::int64_t integer(const std::string &name) const
    {
        return at(name).integer;
    }
    const std::string &text(const std::string &name) const
    {
        return at(name).text;
    }

  private:
    std::vector<std::string> names_;
    std::vector<value> values_;
};

// A memtracer file, read-only, also while it is being recorded. Move-only; for one thread at a
// time.
class recording
{
  public:
    explicit recording(const std::string &path)
    {
        check(tracer_reader_open(c_text(path), &r_));
    }
    recording(const std::string &path, std::error_code &ec) noexcept
    {
        check(tracer_reader_open(c_text(path), &r_), ec);
    }
    recording(const recording &) = delete;
    recording &operator=(const recording &) = delete;
    recording(recording &&other) noexcept : r_(other.r_)
    {
        other.r_ = nullptr;
    }
    recording &operator=(recording &&other) noexcept
    {
        std::swap(r_, other.r_);
        return *this;
    }
    ~recording()
    {
        tracer_reader_close(r_);
    }
    tracer_reader *get() const noexcept
    {
        return r_;
    }

    // All rows of one SELECT, or of a query that memtracer brings ("heap_story").
    std::vector<row> rows(const std::string &sql) const
    {
        answer a;
        check(tracer_reader_query(r_, c_text(sql), nullptr, 0, add, &a));
        if (a.failure)
            std::rethrow_exception(a.failure);
        return std::move(a.rows);
    }

  private:
    struct answer {
        std::vector<row> rows;
        std::exception_ptr failure; // an exception must not pass through C
    };
    static int add(void *user, std::uint32_t n, const char *const *names,
                   const tracer_value *values) noexcept
    {
        answer &a = *static_cast<answer *>(user);
        try {
            a.rows.emplace_back(n, names, values);
        } catch (...) {
            a.failure = std::current_exception();
        }
        return a.failure ? 1 : 0;
    }

    tracer_reader *r_ = nullptr;
};

} // namespace memtracer

#endif
