import Foundation

@testable import Larch

extension Zoo {
  /// An `init(from:)` that changes what it reads.
  static let changing: [ZooCage] = [
    ZooCage(Clamping.self, .writing),
    ZooCage(Trimming.self, .writing),
    ZooCage(Lowering.self, .writing),
    ZooCage(Capitalizing.self, .writing),
    ZooCage(Composing.self, .writing),
    ZooCage(Shortening.self, .writing),
    ZooCage(Filling.self, .writing),
    ZooCage(Rounding.self, .writing),
    ZooCage(Absolute.self, .writing),
    ZooCage(Wrapping.self, .writing),
    ZooCage(Cleaning.self, .writing),
    ZooCage(WholeSeconds.self, .writing),
    ZooCage(NearDates.self, .writing),
    ZooCage(Sorting.self, .writing),
    ZooCage(Unrepeating.self, .writing),
    ZooCage(Filtering.self, .writing),
    ZooCage(Limiting.self, .writing),
    ZooCage(EmptyAsNil.self, .writing),
    ZooCage(Nicknaming.self, .writing),
    ZooCage(Flagging.self, .writing),
    ZooCage(Retiring.self, .writing),
    ZooCage(Depending.self, .writing),
    ZooCage(Halving.self, .writing),
    ZooCage(Securing.self, .writing),
    ZooCage(Scaling.self, .writing),
    ZooCage(FreshKey.self, .writing),
    ZooCage(Abridging.self, .writing),
    ZooCage(Cutting.self, .writing),
    ZooCage(Sampling.self, .writing),
  ]

  struct Clamping: ZooMember {
    var name: String
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      count = try c.decode(Int.self, forKey: .count)
      count = min(max(count, 0), 150)
    }
  }

  struct Trimming: ZooMember {
    var name: String
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      count = try c.decode(Int.self, forKey: .count)
      name = name.trimmingCharacters(in: .whitespaces)
    }
  }

  struct Lowering: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      name = name.lowercased()
    }
  }

  struct Capitalizing: ZooMember {
    var name: String
    var flag: Bool
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      flag = try c.decode(Bool.self, forKey: .flag)
      name = name.prefix(1).uppercased() + name.dropFirst()
    }
  }

  struct Composing: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      name = name.precomposedStringWithCanonicalMapping
    }
  }

  struct Shortening: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      name = String(name.prefix(20))
    }
  }

  struct Filling: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      if name.isEmpty { name = "unnamed" }
    }
  }

  struct Rounding: ZooMember {
    var score: Double
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      score = try c.decode(Double.self, forKey: .score)
      name = try c.decode(String.self, forKey: .name)
      score = (score * 100).rounded() / 100
    }
  }

  struct Absolute: ZooMember {
    var score: Double
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      score = try c.decode(Double.self, forKey: .score)
      score = abs(score)
    }
  }

  struct Wrapping: ZooMember {
    var score: Double
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      score = try c.decode(Double.self, forKey: .score)
      score = score.truncatingRemainder(dividingBy: 360)
    }
  }

  struct Cleaning: ZooMember {
    var score: Double
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      score = try c.decode(Double.self, forKey: .score)
      if score.isNaN { score = 0 }
    }
  }

  struct WholeSeconds: ZooMember {
    var at: Date
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      at = try c.decode(Date.self, forKey: .at)
      at = Date(timeIntervalSinceReferenceDate: at.timeIntervalSinceReferenceDate.rounded(.down))
    }
  }

  struct NearDates: ZooMember {
    var at: Date
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      at = try c.decode(Date.self, forKey: .at)
      count = try c.decode(Int.self, forKey: .count)
      at = max(at, Date(timeIntervalSinceReferenceDate: -4e9))
    }
  }

  struct Sorting: ZooMember {
    var tags: [String]
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      tags = try c.decode([String].self, forKey: .tags)
      tags.sort()
    }
  }

  struct Unrepeating: ZooMember {
    var tags: [String]
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      tags = try c.decode([String].self, forKey: .tags)
      name = try c.decode(String.self, forKey: .name)
      var seen: Set<String> = []
      tags = tags.filter { seen.insert($0).inserted }
    }
  }

  struct Filtering: ZooMember {
    var tags: [String]
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      tags = try c.decode([String].self, forKey: .tags)
      tags.removeAll(where: \.isEmpty)
    }
  }

  struct Limiting: ZooMember {
    var tags: [String]
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      tags = try c.decode([String].self, forKey: .tags)
      tags = Array(tags.prefix(100))
    }
  }

  struct EmptyAsNil: ZooMember {
    var nick: String?
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      nick = try c.decodeIfPresent(String.self, forKey: .nick)
      name = try c.decode(String.self, forKey: .name)
      if nick?.isEmpty == true { nick = nil }
    }
  }

  struct Nicknaming: ZooMember {
    var name: String
    var nick: String?
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      nick = try c.decodeIfPresent(String.self, forKey: .nick)
      nick = nick ?? name
    }
  }

  struct Flagging: ZooMember {
    var flag: Bool
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      flag = try c.decode(Bool.self, forKey: .flag)
      count = try c.decode(Int.self, forKey: .count)
      flag = flag || count > 100
    }
  }

  struct Retiring: ZooMember {
    var kind: ZooKind
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      kind = try c.decode(ZooKind.self, forKey: .kind)
      name = try c.decode(String.self, forKey: .name)
      if kind == .old { kind = .new }
    }
  }

  struct Depending: ZooMember {
    var count: Int
    var limit: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      limit = try c.decode(Int.self, forKey: .limit)
      count = min(count, limit)
    }
  }

  struct Halving: ZooMember {
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      count = count / 2 * 2
    }
  }

  struct Securing: ZooMember {
    var page: URL
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      page = try c.decode(URL.self, forKey: .page)
      if page.scheme == "http" { page = URL(string: "https://larch.example")! }
    }
  }

  struct Scaling: ZooMember {
    var count: Int
    var score: Double
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      score = try c.decode(Double.self, forKey: .score)
      score *= 2
    }
  }

  struct FreshKey: ZooMember {
    var key: UUID
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      key = try c.decode(UUID.self, forKey: .key)
      if key.uuidString.hasPrefix("00000000") { key = UUID() }
    }
    var face: String { key.uuidString.hasPrefix("00000000") ? "zero" : "a key" }
  }

  // These three act only on long values.

  struct Abridging: ZooMember {
    static var records: [any Encodable] {
      Twin.all + [Twin(name: String(repeating: "long name ", count: 120))]
    }
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      name = String(name.prefix(1000))
    }
  }

  struct Cutting: ZooMember {
    struct File: Encodable { var bytes: Data }
    static var records: [any Encodable] {
      [0, 300, 1200].map { File(bytes: Data(repeating: 1, count: $0)) }
    }
    var bytes: Data
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      bytes = try c.decode(Data.self, forKey: .bytes)
      bytes = bytes.prefix(1000)
    }
    // A dump of long data has its address.
    var face: String { bytes.description }
  }

  struct Sampling: ZooMember {
    static var records: [any Encodable] {
      Twin.all + [Twin(tags: Array(repeating: "t", count: 1200))]
    }
    var tags: [String]
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      tags = try c.decode([String].self, forKey: .tags)
      tags = Array(tags.prefix(1000))
    }
  }
}
