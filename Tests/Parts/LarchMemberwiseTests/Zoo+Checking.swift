import Foundation

@testable import Larch

extension Zoo {
  /// An `init(from:)` that refuses some values.
  static let checking: [ZooCage] = [
    ZooCage(InRange.self, .writing),
    ZooCage(NotEmpty.self, .writing),
    ZooCage(Ordered.self, .writing),
    ZooCage(Addressed.self, .neither),
    ZooCage(Printable.self, .writing),
    ZooCage(ShortEnough.self, .writing),
    ZooCage(Secure.self, .neither),
    ZooCage(Unique.self, .writing),
    ZooCage(Finite.self, .writing),
    ZooCage(Keyed.self, .writing),
    ZooCage(Past.self, .writing),
    ZooCage(NamedIfOld.self, .writing),
    ZooCage(NeverOther.self, .writing),
    ZooCage(Nicked.self, .neither),
    ZooCage(Crowded.self, .writing),
    ZooCage(Flagged.self, .neither),
    ZooCage(Percent.self, .writing),
    ZooCage(Even.self, .neither),
  ]

  struct InRange: ZooMember {
    var name: String
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      count = try c.decode(Int.self, forKey: .count)
      guard count < 150, count >= 0 else { throw ZooError() }
    }
  }

  struct NotEmpty: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      guard !name.isEmpty else { throw ZooError() }
    }
  }

  struct Ordered: ZooMember {
    var count: Int
    var limit: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      limit = try c.decode(Int.self, forKey: .limit)
      guard count <= limit else { throw ZooError() }
    }
  }

  struct Addressed: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      guard name.contains("@") else { throw ZooError() }
    }
  }

  struct Printable: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      guard name.unicodeScalars.allSatisfy({ $0.value >= 32 }) else { throw ZooError() }
    }
  }

  struct ShortEnough: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      guard name.utf8.count <= 64 else { throw ZooError() }
    }
  }

  struct Secure: ZooMember {
    var page: URL
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      page = try c.decode(URL.self, forKey: .page)
      guard page.scheme == "https" else { throw ZooError() }
    }
  }

  struct Unique: ZooMember {
    var tags: [String]
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      tags = try c.decode([String].self, forKey: .tags)
      guard Set(tags).count == tags.count else { throw ZooError() }
    }
  }

  struct Finite: ZooMember {
    var score: Double
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      score = try c.decode(Double.self, forKey: .score)
      guard score.isFinite else { throw ZooError() }
    }
  }

  struct Keyed: ZooMember {
    var key: UUID
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      key = try c.decode(UUID.self, forKey: .key)
      guard !key.uuidString.hasPrefix("00000000") else { throw ZooError() }
    }
  }

  struct Past: ZooMember {
    var at: Date
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      at = try c.decode(Date.self, forKey: .at)
      guard at.timeIntervalSinceReferenceDate < 1e10 else { throw ZooError() }
    }
  }

  struct NamedIfOld: ZooMember {
    var kind: ZooKind
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      kind = try c.decode(ZooKind.self, forKey: .kind)
      name = try c.decode(String.self, forKey: .name)
      guard kind != .old || !name.isEmpty else { throw ZooError() }
    }
  }

  struct NeverOther: ZooMember {
    var kind: ZooKind
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      kind = try c.decode(ZooKind.self, forKey: .kind)
      guard kind != .other else { throw ZooError() }
    }
  }

  struct Nicked: ZooMember {
    var nick: String?
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      nick = try c.decodeIfPresent(String.self, forKey: .nick)
      count = try c.decode(Int.self, forKey: .count)
      guard nick != nil else { throw ZooError() }
    }
  }

  struct Crowded: ZooMember {
    var tags: [String]
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      tags = try c.decode([String].self, forKey: .tags)
      count = try c.decode(Int.self, forKey: .count)
      guard tags.count < 100 else { throw ZooError() }
    }
  }

  struct Flagged: ZooMember {
    var flag: Bool
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      flag = try c.decode(Bool.self, forKey: .flag)
      guard flag else { throw ZooError() }
    }
  }

  struct Percent: ZooMember {
    var score: Double
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      score = try c.decode(Double.self, forKey: .score)
      guard (0...100).contains(score) else { throw ZooError() }
    }
  }

  struct Even: ZooMember {
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      guard count % 2 == 0 else { throw ZooError() }
    }
  }
}
