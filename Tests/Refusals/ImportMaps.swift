import Larch

struct Town: Record {
  var id = RecordID<Town>()
  var name: String
  static let schema = Schema<Town> { Unique(\.name) }
}

struct Citizen: Record {
  var id = RecordID<Citizen>()
  var name: String
  var age: Int
  var townID: Town.ID?
  static let town = BelongsTo<Citizen, Town>(\.townID)
  static let schema = Schema<Citizen> { town }
}

let wrongProperty = ImportMap<Citizen> {
  Mapped(\.nmae, from: "n")  // error: has no member 'nmae'
}
let wrongDefault = ImportMap<Citizen> {
  Mapped(\.age, from: "a", default: "old")  // error: cannot convert
}
let wrongUnique = ImportMap<Citizen> {
  Linked(Citizen.town, from: "t", by: \.nmae)  // error: has no member 'nmae'
}
let wrongOwner = ImportMap<Town> {
  Linked(Citizen.town, from: "t", by: \.name)  // error: Citizen
}
let fine = ImportMap<Citizen> {
  Mapped(\.name, from: "n")
  Linked(Citizen.town, from: "t", by: \.name)
}
