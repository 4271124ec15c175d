import Foundation
import Larch

// This target uses the plugin, which reads this file.

protocol PluginSample: Codable, Hashable, Sendable {
  static var sample: Self { get }
}

struct PluginPart: PluginSample {
  var text: String
  var count: Int?
  static let sample = PluginPart(text: "a", count: nil)
}

enum PluginSpace {}

extension PluginSpace {
  struct Whole: PluginSample {
    enum Kind: String, Codable { case a, b }
    var part: PluginPart
    var parts: [PluginPart] = []
    var kind = Kind.b
    var at: Date
    enum CodingKeys: String, CodingKey { case part = "p", parts, kind, at }
    static let sample = Whole(
      part: .sample, parts: [.sample, .sample], at: Date(timeIntervalSinceReferenceDate: 9))
  }
}

struct PluginBox<Content: PluginSample>: PluginSample {
  var content: Content
  static var sample: Self { Self(content: .sample) }
}

struct PluginWritten: PluginSample {
  var count: Int
  static let sample = PluginWritten(count: 3)
}

extension PluginWritten {
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    count = abs(try container.decode(Int.self, forKey: .count))
  }
}

/// Has the compiler's coding, and a property that has not.
struct PluginHolder: PluginSample {
  var part: PluginWritten
  static let sample = PluginHolder(part: .sample)
}

protocol PluginDefault: Encodable { var count: Int { get } }

extension PluginDefault {
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(count)
  }
}

/// Its encode(to:) is the protocol's.
struct PluginDefaulted: PluginSample, PluginDefault {
  var count: Int
  static let sample = PluginDefaulted(count: 3)
  init(count: Int) { self.count = count }
  init(from decoder: any Decoder) throws {
    count = try decoder.singleValueContainer().decode(Int.self)
  }
}

/// Only its protocol's extension says that it is not coded as the compiler would.
protocol PluginReader: Decodable { init(read: Int) }

extension PluginReader {
  init(from decoder: any Decoder) throws {
    self.init(read: try decoder.singleValueContainer().decode(Int.self))
  }
}

struct PluginRead: PluginSample, PluginReader {
  var count: Int
  static let sample = PluginRead(count: 3)
  init(count: Int) { self.count = count }
  init(read: Int) { count = read }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(count)
  }
}
