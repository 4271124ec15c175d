import Foundation

@testable import Larch

enum PlanRole: String, Codable, IndexKey, CaseIterable { case guest, member, owner }

struct PlanAddress: Codable, Equatable, Sendable {
  var city: String
  var street: String?
}

struct PlanVersion: Codable, Equatable, Comparable, IndexKey, Sendable {
  var major: Int
  var minor: Double

  var indexValue: CompositeKey<Int, Double> { CompositeKey(major, minor) }

  static func < (a: Self, b: Self) -> Bool { (a.major, a.minor) < (b.major, b.minor) }
}

/// Every kind of index on one type.
struct PlanPerson: Record {
  var id = RecordID<PlanPerson>()
  var name = ""
  var email: String?
  var age = 0
  var city = ""
  var country = ""
  var score = 0.0
  var height: Double?
  var isActive = true
  var role = PlanRole.guest
  var tags: [String] = []
  var address = PlanAddress(city: "", street: nil)
  var joined = Date(timeIntervalSinceReferenceDate: 0)
  var company: Int?
  var version = PlanVersion(major: 0, minor: 0)
  var note = ""
  var nick: String?
  var initial: String { String(name.prefix(1)) }

  static let schema = Schema<PlanPerson> {
    Unique(\.email)
    Index(\.city, \.age)
    Index(\.tags)
    Index(\.name, options: .caseInsensitive)
    Index(\.score)
    Index(\.height)
    Index(\.role, \.joined)
    Index(\.company, \.name)
    Index(\.address.city, \.address.street)
    Index(\.country, \.tags, \.age)
    Index(\.isActive)
    Index(\.version)
    Index(\.initial, name: "initial")
    Index(\.age, name: "activeAge", where: { $0.isActive })
  }
}

/// With an id that is a text, and indexes over one field each.
struct PlanDocument: Record {
  var id: String
  var title = ""
  var subtitle: String?
  var year = 0
  var rank: UInt8 = 0

  static let schema = Schema<PlanDocument> {
    Index(\.title)
    Index(\.subtitle)
    Index(\.year)
    Unique(\.rank, \.title)
  }
}

/// With an unsigned id and nothing else that is indexed.
struct PlanTicket: Record {
  var id: UInt32
  var seat = 0
  static let schema = Schema<PlanTicket> {}
}
