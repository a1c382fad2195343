// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The conversion of a call into a message and back. Arguments are kept as values of the parameters' types,
// moved in and moved out; a std::span<const T> is copied behind them once, and read where it lies.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "nigh/chare/archive.hpp"
#include "nigh/chare/core.hpp"

namespace nigh::chare::core {

// A std::span<const T> as it is kept: where, from the start of the message.
template <class T>
struct InMessage {
  std::uint64_t offset, count;
};

template <class P>
struct Parameter {
  static_assert(!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>,
                "an entry method can't take a reference to what it would change: its caller does not wait");
  using Kept = std::remove_cvref_t<P>;
  static_assert(alignof(Kept) <= 16, "aligned to more than 16 bytes: pass it in a std::span");
  template <class A>
  static std::size_t behind(const A&) {
    return 0;
  }
  template <class A>
  static Kept keep(A&& argument, Header*, std::size_t&) {
    return Kept(std::forward<A>(argument));
  }
  static P&& give(Kept& kept, Header*) { return static_cast<P&&>(kept); }
  static decltype(auto) show(const Kept& kept, const Header*) {
    if constexpr (std::is_rvalue_reference_v<P>)
      return Kept(kept);
    else
      return static_cast<const Kept&>(kept);
  }
  static constexpr bool plain = std::is_trivially_copyable_v<Kept>;
  static constexpr bool travels = Travels<Kept>::value;
  static constexpr bool travels_as_bytes = TravelsAsBytes<Kept>::value;
};

template <class T>
struct Parameter<std::span<const T>> {
  static_assert(std::is_trivially_copyable_v<T>, "a span in a message is copied as bytes");
  static_assert(alignof(T) <= 16, "aligned to more than 16 bytes");
  using Kept = InMessage<T>;
  static std::size_t behind(std::span<const T> argument) {
    return (argument.size_bytes() + 15) & ~std::size_t{15};
  }
  static Kept keep(std::span<const T> argument, Header* message, std::size_t& at) {
    const std::size_t offset = at;
    if (!argument.empty())
      std::memcpy(reinterpret_cast<char*>(message) + offset, argument.data(), argument.size_bytes());
    at += behind(argument);
    return {offset, argument.size()};
  }
  static std::span<const T> show(const Kept& kept, const Header* message) {
    return {reinterpret_cast<const T*>(reinterpret_cast<const char*>(message) + kept.offset), kept.count};
  }
  static std::span<const T> give(Kept& kept, Header* message) { return show(kept, message); }
  static constexpr bool plain = true, travels = true, travels_as_bytes = true;
};

// The arguments of a call with parameters P...
template <class... P>
struct Arguments {
  using Kept = std::tuple<typename Parameter<P>::Kept...>;
  static constexpr bool plain = (Parameter<P>::plain && ...);
  static constexpr std::size_t head = (sizeof(Header) + sizeof(Kept) + 15) & ~std::size_t{15};

  static Kept& of(Header* message) { return *std::launder(reinterpret_cast<Kept*>(message + 1)); }
  static const Kept& of(const Header* message) {
    return *std::launder(reinterpret_cast<const Kept*>(message + 1));
  }

  template <class... A>
  static Header* message(const Entry& entry, A&&... arguments) {
    static_assert(sizeof...(A) == sizeof...(P), "as many arguments as the entry method has parameters");
    static_assert((std::is_constructible_v<std::remove_cvref_t<P>, A&&> && ...),
                  "an argument does not fit its parameter");
    Header* const out = get(head + (std::size_t{0} + ... + Parameter<P>::behind(arguments)), entry);
    if (!out) throw std::bad_alloc();
    [[maybe_unused]] std::size_t at = head;
    new (static_cast<void*>(out + 1)) Kept{Parameter<P>::keep(std::forward<A>(arguments), out, at)...};
    return out;
  }
  template <class Call>
  static void give(Header* message, Call&& call) {
    give_each(message, call, std::index_sequence_for<P...>());
  }
  template <class Call>
  static decltype(auto) show(const Header* message, Call&& call) {
    return show_each(message, call, std::index_sequence_for<P...>());
  }
  static void copy(const Header* from, Header* into) {
    const std::size_t bytes = std::min(from->bytes(), into->bytes());
    std::memcpy(static_cast<void*>(into + 1), from + 1, bytes - sizeof(Header));  // the spans
    new (static_cast<void*>(into + 1)) Kept(of(from));
  }
  static void destroy(Header* message) { std::destroy_at(&of(message)); }

  // Between processes: those arguments that are not the bytes they are kept as.
  static constexpr Entry::Travel travel() {
    if constexpr ((Parameter<P>::plain && ...))
      return Entry::Travel::as_it_lies;
    else if constexpr ((Parameter<P>::travels_as_bytes && ...))
      return Entry::Travel::in_shared_memory;
    else
      return (Parameter<P>::travels && ...) ? Entry::Travel::written : Entry::Travel::never;
  }
  // Their bytes were copied before; the arguments remain to be destroyed. Where memory is shared what buffers
  // hold has gone.
  static std::size_t write(Header* message, char* into, Reach to) {
    Archive archive(into ? Archive::Does::write : Archive::Does::count, into, to);
    each_written(message, to, [&](auto& kept) { archive(kept); }, std::index_sequence_for<P...>());
    if (into && to == Reach::shared) std::apply([](auto&... kept) { (release(kept), ...); }, of(message));
    return archive.bytes();
  }
  template <class T>
  static void release(T&) {}
  template <class T>
  static void release(Buffer<T>& buffer) {
    buffer.release();
  }
  static void read(char* from, Header* into, Reach from_where) {
    Archive archive(Archive::Does::read, from, from_where);
    each_written(
        into, from_where,
        [&](auto& kept) {
          new (static_cast<void*>(&kept)) std::remove_reference_t<decltype(kept)>();
          archive(kept);
        },
        std::index_sequence_for<P...>());
  }
  // The bytes that are in the caches of the writer.
  static std::size_t buffers(const Header* message, Entry::EachBuffer each, void* context) {
    std::size_t bytes = 0;
    std::apply([&](const auto&... kept) { ((bytes += show_buffer(kept, each, context)), ...); }, of(message));
    return bytes;
  }
  template <class T>
  static std::size_t show_buffer(const T&, Entry::EachBuffer, void*) {
    return 0;
  }
  template <class T>
  static std::size_t show_buffer(const Buffer<T>& buffer, Entry::EachBuffer each, void* context) {
    const std::size_t bytes = buffer.size() * sizeof(T);
    // Its address stands first in it.
    if (each) each(context, &buffer, const_cast<T*>(buffer.data()), bytes);
    return bytes;
  }
  template <class T>
  struct IsBuffer : std::false_type {};
  template <class T>
  struct IsBuffer<Buffer<T>> : std::true_type {};
  static constexpr auto shower() -> decltype(Entry::buffers) {
    if constexpr ((IsBuffer<std::remove_cvref_t<P>>::value || ...))
      return buffers;
    else
      return nullptr;
  }
  static constexpr auto writer() -> decltype(Entry::write) {
    if constexpr (travel() == Entry::Travel::written || travel() == Entry::Travel::in_shared_memory)
      return write;
    else
      return nullptr;
  }
  static constexpr auto reader() -> decltype(Entry::read) {
    if constexpr (travel() == Entry::Travel::written || travel() == Entry::Travel::in_shared_memory)
      return read;
    else
      return nullptr;
  }

 private:
  template <class Use, std::size_t... I>
  static void each_written(Header* message, [[maybe_unused]] Reach reach, Use&& use,
                           std::index_sequence<I...>) {
    [[maybe_unused]] Kept& kept = of(message);
    auto look = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
      using Of = Parameter<std::tuple_element_t<i, std::tuple<P...>>>;
      if constexpr (!Of::plain)
        if (reach != Reach::shared || !Of::travels_as_bytes) use(std::get<i>(kept));
    };
    (look(std::integral_constant<std::size_t, I>()), ...);
  }
  template <class Call, std::size_t... I>
  static void give_each(Header* message, Call& call, std::index_sequence<I...>) {
    [[maybe_unused]] Kept& kept = of(message);
    call(Parameter<P>::give(std::get<I>(kept), message)...);
  }
  template <class Call, std::size_t... I>
  static decltype(auto) show_each(const Header* message, Call& call, std::index_sequence<I...>) {
    [[maybe_unused]] const Kept& kept = of(message);
    return call(Parameter<P>::show(std::get<I>(kept), message)...);
  }
};

// No exception leaves it, whatever the body does.
template <class Body>
void guarded(Body&& body) {
  try {
    body();
  } catch (const std::exception& e) { failed(e.what()); } catch (...) {
    failed("an exception that is not a std::exception");
  }
}

// "... [with auto M = &Cell::receive; bool Shared = false; T = Cell]" and "... [M = &Cell::receive, Shared =
// false, T = Cell]".
template <auto M, bool Shared, class T>
constexpr std::string_view name_of_value() {
  return __PRETTY_FUNCTION__;
}
template <class... T>
constexpr std::string_view name_of_types() {
  return __PRETTY_FUNCTION__;
}

template <class M>
struct MethodOf;
template <class C, class... P>
struct MethodOf<void (C::*)(P...)> {
  using Class = C;
  using All = Arguments<P...>;
  template <class Data>
  static constexpr bool takes_result = false;
  using Only = void;
};
template <class C, class... P>
struct MethodOf<void (C::*)(P...) noexcept> : MethodOf<void (C::*)(P...)> {};
template <class C, class... P>
struct MethodOf<void (C::*)(P...) const> : MethodOf<void (C::*)(P...)> {};
template <class C, class... P>
struct MethodOf<void (C::*)(P...) const noexcept> : MethodOf<void (C::*)(P...)> {};

// The result of a reduction as arguments: of a method that takes none, one value, or a span.
template <class... P>
struct ResultArguments {
  static bool from(const void*, std::size_t, Header*, std::size_t*) { return false; }
};
template <>
struct ResultArguments<> {
  static bool from(const void*, std::size_t, Header* into, std::size_t* bytes) {
    if (into)
      new (static_cast<void*>(into + 1)) std::tuple<>();
    else
      *bytes = Arguments<>::head;
    return true;
  }
};
template <class P>
struct ResultArguments<P> {
  using Kept = typename Parameter<P>::Kept;
  static bool from(const void* data, std::size_t data_bytes, Header* into, std::size_t* bytes) {
    if constexpr (!Parameter<P>::plain) {
      return false;
    } else {
      if (data_bytes != sizeof(Kept)) return false;
      *bytes = Arguments<P>::head;
      if (into) std::memcpy(static_cast<void*>(into + 1), data, data_bytes);
      return true;
    }
  }
};
template <class T>
struct ResultArguments<std::span<const T>> {
  static bool from(const void* data, std::size_t data_bytes, Header* into, std::size_t* bytes) {
    if (data_bytes % sizeof(T) != 0) return false;
    constexpr std::size_t head = Arguments<std::span<const T>>::head;
    *bytes = head + ((data_bytes + 15) & ~std::size_t{15});
    if (!into) return true;
    if (data_bytes > 0) std::memcpy(reinterpret_cast<char*>(into) + head, data, data_bytes);
    new (static_cast<void*>(into + 1)) InMessage<T>{head, data_bytes / sizeof(T)};
    return true;
  }
};
template <class A>
struct ResultOf;
template <class... P>
struct ResultOf<Arguments<P...>> : ResultArguments<P...> {};

// The types that balance() can move.
template <class T>
concept Moves = SaysItsParts<T> && std::is_default_constructible_v<T>;

// Members are compared with those of a new object, so the padding between them has to be the same.
template <class T, class... A>
T* make_new(A&&... arguments) {
  constexpr bool has_own_new = requires { T::operator new(sizeof(T)); };
  if constexpr (!has_own_new && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    if (looks_closely()) {
      void* const memory = ::operator new(sizeof(T));
      std::memset(memory, 0, sizeof(T));
      try {
        return ::new (memory) T(std::forward<A>(arguments)...);
      } catch (...) {
        ::operator delete(memory);
        throw;
      }
    }
  }
  return new T(std::forward<A>(arguments)...);
}

// The first byte in which `now` is not as in `fresh`, but `again` is. SIZE_MAX: there is none. What points
// into the object itself is the same where it points to the same place; other pointers are looked at as a
// whole, since those to different places have bytes in common.
inline std::size_t first_forgotten(const unsigned char* now, const unsigned char* fresh,
                                   const unsigned char* again, std::size_t from, std::size_t to) {
  constexpr std::size_t word = sizeof(std::uintptr_t);
  const unsigned char* const objects[] = {now, fresh, again};
  for (std::size_t at = from; at < to; at += word) {
    const std::size_t bytes = std::min(word, to - at);
    std::uintptr_t values[3] = {};
    for (std::size_t i = 0; i < 3; ++i) {
      std::memcpy(&values[i], objects[i] + at, bytes);
      const std::uintptr_t place = values[i] - reinterpret_cast<std::uintptr_t>(objects[i]);
      if (place < to) values[i] = place;
    }
    if (values[0] == values[1]) continue;
    const bool may_point = values[2] >> 32U != 0 && values[2] >> 48U == 0;
    if (may_point && values[2] != values[1]) continue;
    for (std::size_t byte = at; byte < at + bytes; ++byte)
      if (now[byte] != fresh[byte] && (values[2] == values[1] || again[byte] == fresh[byte])) return byte;
  }
  return SIZE_MAX;
}

template <class T>
struct TypeOf {
  static void destroy([[maybe_unused]] ElementBase* element) {
    if constexpr (std::is_destructible_v<T> && !std::is_abstract_v<T>) delete static_cast<T*>(element);
  }
  static std::size_t write(ElementBase* element, char* into, Reach to)
    requires Moves<T>
  {
    Archive archive(into ? Archive::Does::write : Archive::Does::count, into, to);
    guarded([&] { static_cast<T*>(element)->serialize(archive); });
    return archive.bytes();
  }
  static ElementBase* read(const char* from, std::size_t bytes, Reach from_where)
    requires Moves<T>
  {
    ElementBase* made = nullptr;
    guarded([&] {
      std::unique_ptr<T> owner(make_new<T>());
      Archive archive(from, bytes, from_where);
      owner->serialize(archive);
      if (archive.bytes() != bytes) throw std::runtime_error("serialize() reads less than it has written");
      owner->type = &entry;
      made = owner.release();
    });
    return made;
  }
  static bool forgets(ElementBase* element, std::size_t* at)
    requires Moves<T>
  {
    T& now = *static_cast<T*>(element);
    try {
      Archive count(Archive::Does::count, nullptr, Reach::file);
      now.serialize(count);
      if (count.has_heap()) return false;
      std::vector<char> data(count.bytes() + 1);
      Archive write(Archive::Does::write, data.data(), Reach::file);
      now.serialize(write);
      const std::unique_ptr<T> fresh(make_new<T>()), again(make_new<T>());
      Archive read(data.data(), count.bytes(), Reach::file);
      again->serialize(read);
      auto bytes = [](const T* of) { return reinterpret_cast<const unsigned char*>(of); };
      const auto base =
          static_cast<std::size_t>(reinterpret_cast<const unsigned char*>(element) - bytes(&now));
      *at = first_forgotten(bytes(&now), bytes(fresh.get()), bytes(again.get()), 0, base);
      if (*at == SIZE_MAX)
        *at = first_forgotten(bytes(&now), bytes(fresh.get()), bytes(again.get()), base + sizeof(ElementBase),
                              sizeof(T));
      return *at != SIZE_MAX;
    } catch (...) {
      return false;  // told where it is written
    }
  }
  static constexpr bool has_own_new = requires { T::operator new(sizeof(T)); };
  struct Listed : Type {
    Listed()
        : Type{name_of_types<T>().data(),
               name_of_types<T>().size(),
               TypeOf::destroy,
               nullptr,
               nullptr,
               sizeof(T),
               nullptr} {
      if constexpr (Moves<T>) {
        Type::write = TypeOf::write, Type::read = TypeOf::read;
        if constexpr (!has_own_new && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__)
          Type::forgets = TypeOf::forgets;
      }
      using Base = typename T::ElementOf;
      if constexpr (!std::is_same_v<Base, T>) Type::base = &TypeOf<Base>::entry;
      enlist(this);
    }
  };
  static inline Listed entry;
};

// Entry methods of elements T. Shared: a message may be for several elements, so its arguments must be
// copied.
template <class T, auto Method, bool Shared = false>
struct EntryOf {
  using Traits = MethodOf<decltype(Method)>;
  using Class = typename Traits::Class;
  using All = typename Traits::All;
  static_assert(std::is_base_of_v<Class, T>, "a method of another class");

  static void run(ElementBase* element, Header* message) {
    guarded([&] {
      All::give(message, [&](auto&&... arguments) {
        (static_cast<Class*>(element)->*Method)(std::forward<decltype(arguments)>(arguments)...);
      });
    });
    All::destroy(message);
  }
  static void run_shared(ElementBase* element, const Header* message) {
    guarded([&] {
      All::show(message, [&](auto&&... arguments) {
        (static_cast<Class*>(element)->*Method)(std::forward<decltype(arguments)>(arguments)...);
      });
    });
  }
  static constexpr auto shared() -> decltype(Entry::run_shared) {
    if constexpr (Shared)
      return run_shared;
    else
      return nullptr;
  }
  static constexpr auto copies() -> decltype(Entry::copy) {
    if constexpr (Shared && !All::plain)
      return All::copy;
    else
      return nullptr;
  }
  struct Listed : Entry {
    Listed()
        : Entry{name_of_value<Method, Shared, T>().data(),
                name_of_value<Method, Shared, T>().size(),
                EntryOf::run,
                shared(),
                nullptr,
                copies(),
                All::plain ? nullptr : All::destroy,
                ResultOf<All>::from,
                All::travel(),
                All::writer(),
                All::reader(),
                All::shower(),
                &TypeOf<T>::entry} {
      enlist(this);
    }
  };
  static inline Listed entry;
};

// The constructor of T that takes A... (decayed).
template <class T, class... A>
struct ConstructorOf {
  using All = Arguments<A...>;
  static ElementBase* make(const Header* message) {
    ElementBase* made = nullptr;
    guarded([&] {
      made = All::show(message,
                       [](const auto&... arguments) -> ElementBase* { return make_new<T>(arguments...); });
      made->type = &TypeOf<T>::entry;
    });
    return made;
  }
  struct Listed : Entry {
    Listed()
        : Entry{name_of_types<T, A...>().data(),
                name_of_types<T, A...>().size(),
                nullptr,
                nullptr,
                ConstructorOf::make,
                All::plain ? nullptr : All::copy,
                All::plain ? nullptr : All::destroy,
                nullptr,
                All::travel(),
                All::writer(),
                All::reader(),
                nullptr,
                &TypeOf<T>::entry} {
      enlist(this);
    }
  };
  static inline Listed entry;
};

}  // namespace nigh::chare::core
