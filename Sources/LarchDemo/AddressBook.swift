import Foundation
import Larch

struct Address: Codable, Sendable {
  var street: String
  var city: String
}

struct Contact: Record {
  var id = RecordID<Contact>()
  var name: String
  var email: String?
  var address: Address
  var born: Date
  var tags: [String] = []

  static let schema = Schema<Contact> {
    Unique(\.email)
    Index(\.address.city, \.name)
    Index(\.tags)
  }
}

/// The contacts of the tour, and further generated ones.
enum SampleContacts {
  static let first = [
    contact("Ada Lovelace", "ada@larch.example", "12 St James's Square", "London", 1815, ["maths"]),
    contact(
      "Alan Turing", "alan@larch.example", "2 Warrington Crescent", "London", 1912, ["maths"]),
    contact("Grace Hopper", "grace@larch.example", "1 Navy Yard", "New York", 1906, ["navy"]),
    contact("Sofja Kovalevskaja", nil, "Kungsgatan 4", "Stockholm", 1850, ["maths", "novels"]),
  ]

  static func many(_ count: Int) -> [Contact] {
    let cities = ["London", "New York", "Stockholm", "Oslo", "Lyon", "Graz", "Porto", "Kraków"]
    return (0..<count).map { number in
      contact(
        "Contact \(number)", "contact\(number)@larch.example", "Larch Road \(number % 200)",
        cities[number % cities.count], 1930 + number % 80, number % 3 == 0 ? ["sample"] : [])
    }
  }

  private static func contact(
    _ name: String, _ email: String?, _ street: String, _ city: String, _ year: Int,
    _ tags: [String]
  ) -> Contact {
    // Years of 365.2425 days; a demo needs no calendar.
    let born = Date(timeIntervalSince1970: Double(year - 1970) * 31_556_952)
    return Contact(
      name: name, email: email, address: Address(street: street, city: city), born: born,
      tags: tags)
  }
}
