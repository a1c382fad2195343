// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/json_devices.hpp"

#include <fmt/format.h>

#include "machine/json_words.hpp"

namespace nigh {

namespace {
using DeviceJson = nlohmann::json;

constexpr std::size_t most_devices = 4096, most_names = 64, longest_text = 256;

tl::unexpected<Error> wrong_device(const std::string& path, const std::string& what) {
  return fail(Errc::invalid, path + ": " + what);
}

Result<void> read_device_text(const DeviceJson& object, const std::string& path, const char* key, bool needed,
                              std::string& out) {
  const std::string at = path + '.' + key;
  if (!object.contains(key)) return needed ? Result<void>(wrong_device(at, "is missing")) : Result<void>();
  const DeviceJson& value = object[key];
  if (!value.is_string() || value.get_ref<const std::string&>().size() > longest_text)
    return wrong_device(at, fmt::format("must be a text of at most {} bytes", longest_text));
  out = value.get<std::string>();
  return {};
}

Result<void> read_device_names(const DeviceJson& object, const std::string& path, Device& out) {
  if (!object.contains("names")) return {};
  const DeviceJson& list = object["names"];
  if (!list.is_array() || list.size() > most_names)
    return wrong_device(path + ".names", fmt::format("must be a list of at most {} names", most_names));
  for (const DeviceJson& name : list) {
    if (!name.is_string() || name.get_ref<const std::string&>().size() > longest_text)
      return wrong_device(path + ".names", "must be a list of texts");
    out.names.push_back(name.get<std::string>());
  }
  return {};
}

Result<Device> read_device(const DeviceJson& object, const std::string& path) {
  constexpr const char* known = "type, bus, vendor, title, names, pus";
  if (!object.is_object()) return wrong_device(path, fmt::format("must be an object with {}", known));
  for (const auto& item : object.items())
    if (item.key() != "type" && item.key() != "bus" && item.key() != "vendor" && item.key() != "title" &&
        item.key() != "names" && item.key() != "pus")
      return wrong_device(path, "unknown key " + quoted(item.key()) + "; known here: " + known);
  Device out;
  std::string type, pus;
  for (auto read : {read_device_text(object, path, "type", true, type),
                    read_device_text(object, path, "bus", true, out.bus),
                    read_device_text(object, path, "vendor", false, out.vendor),
                    read_device_text(object, path, "title", false, out.title),
                    read_device_names(object, path, out), read_device_text(object, path, "pus", true, pus)})
    if (!read) return tl::unexpected(read.error());
  if (type != "gpu" && type != "nic") return wrong_device(path + ".type", "must be gpu or nic");
  out.type = type == "gpu" ? Device::Type::gpu : Device::Type::nic;
  auto set = CpuSet::parse(pus);
  if (!set || set->empty()) return wrong_device(path + ".pus", "must be a list of PUs such as 0-5,8");
  out.pus = *set;
  return out;
}

std::string quoted_json(const std::string& text) {
  return DeviceJson(text).dump(-1, ' ', false, DeviceJson::error_handler_t::replace);
}

std::string device_to_json(const Device& device) {
  std::string out =
      fmt::format("{{ \"type\": \"{}\", \"bus\": {}", device_type_name(device.type), quoted_json(device.bus));
  if (!device.vendor.empty()) out += ", \"vendor\": " + quoted_json(device.vendor);
  if (!device.title.empty()) out += ", \"title\": " + quoted_json(device.title);
  for (std::size_t i = 0; i < device.names.size(); ++i)
    out += (i == 0 ? ", \"names\": [" : ", ") + quoted_json(device.names[i]);
  if (!device.names.empty()) out += ']';
  return out + fmt::format(", \"pus\": \"{}\" }}", device.pus.to_list());
}
}  // namespace

Result<void> devices_from_json(const DeviceJson& document, Machine& machine) {
  if (!document.contains("devices")) return {};
  const DeviceJson& list = document["devices"];
  if (!list.is_array() || list.size() > most_devices)
    return wrong_device("devices", fmt::format("must be a list of at most {} devices", most_devices));
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto device = read_device(list[i], fmt::format("devices[{}]", i));
    if (!device) return tl::unexpected(device.error());
    machine.devices.push_back(*std::move(device));
  }
  return {};
}

std::string devices_to_json(const Machine& machine) {
  std::string out;
  for (const Device& device : machine.devices)
    out += (out.empty() ? ",\n  \"devices\": [\n    " : ",\n    ") + device_to_json(device);
  return out.empty() ? out : out + " ]";
}

}  // namespace nigh
