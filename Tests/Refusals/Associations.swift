import Foundation
import Larch

struct Firm: Record {
  var id = RecordID<Firm>()
  var name = ""
}

struct Town: Record {
  var id: String
}

struct Visit: Codable, Sendable {
  var day: Date
}

struct Worker: Record {
  var id = RecordID<Worker>()
  var firmID: Firm.ID?
  var townID: String?
  var townIDs: [String] = []
  var price: Decimal = 0
  var visit: Visit?

  // The right way is open.
  static let firm = BelongsTo<Worker, Firm>(\.firmID)
  static let past = ManyToMany<Worker, Firm>(named: "past")
  static let schema = Schema<Worker> {
    firm
    BelongsTo(\.townID, to: Town.self)
    HasMany(Town.self, in: \.townIDs)
    past
  }
}

func idsOfAnotherType() {
  _ = Schema<Worker> { BelongsTo(\.townID, to: Firm.self) }  // error: _ReferencedID' (aka
  _ = Schema<Worker> { BelongsTo(\.firmID, to: Town.self) }  // error: _ReferencedID' (aka
  _ = Schema<Worker> { BelongsTo(\.firmID, to: Worker.self) }  // error: _ReferencedID' (aka
  _ = Schema<Worker> { HasMany(Firm.self, in: \.townIDs) }  // error: _ReferencedID' (aka
  _ = Schema<Town> { HasMany(\Worker.firmID) }  // error: _ReferencedID' (aka
  _ = Schema<Firm> { HasOne(\Worker.townID) }  // error: _ReferencedID' (aka
}

func noIDs() {
  _ = Schema<Worker> { BelongsTo(\.price, to: Town.self) }  // error: conform to 'IDReference'
  _ = Schema<Worker> { BelongsTo(\.visit, to: Town.self) }  // error: conform to 'IDReference'
}

func propertiesOfAnotherType() {
  _ = Schema<Firm> { BelongsTo(\Worker.townID, to: Town.self) }  // error: to expected argument type
  _ = Schema<Firm> { BelongsTo(\.townID, to: Town.self) }  // error: 'Firm' has no member 'townID'
  _ = Schema<Firm> { HasMany(Town.self, in: \Worker.townIDs) }  // error: to expected argument type
  _ = Schema<Firm> { Worker.firm }  // error: to expected argument type
}

func noRecords() {
  _ = Schema<Worker> { ManyToMany(Visit.self, named: "visits") }  // error: conform to 'Record'
  _ = Schema<Worker> { ManyToMany(Firm.self) }  // error: missing argument for parameter 'named'
}

func idsOfOthers(_ tx: WriteTransaction, _ worker: Worker, _ firm: Firm) throws {
  try tx.add(firm.id, to: worker.related(Worker.past))
  try tx.add(worker.id, to: worker.related(Worker.past))  // error: cannot convert
  try tx.add("Oslo", to: worker.related(Worker.past))  // error: no exact matches in call
  _ = firm.related(Worker.past)  // error: 'Firm' and 'Worker' be equivalent
}

func severalAssociations(_ towns: Query<Town>) {
  _ = Worker.all.with(Worker.firm).with(Worker.past)
  _ = Worker.all.with(Worker.firm).with(Worker.firm, from: towns)  // error: expected argument type
  _ = towns.with(Worker.firm)  // error: 'Town' and 'Worker' be equivalent
  _ = Worker.all.with(Worker.firm).with(Worker.town)  // error: has no member 'town'
  _ = Worker.all.with(Worker.firm, from: Worker.all.with(Worker.firm))  // error: argument type
  _ = Worker.all.with(Worker.firm, from: Firm.all.with(Worker.firm))  // error: be equivalent
}

func excerpts(_ list: [Excerpt<Worker>]) {
  _ = Worker.leavingOut(\.firmID, as: nil)
  _ = Worker.all.leavingOut(\.price, \.visit, as: 0, nil)
  _ = Worker.leavingOut(\.firmID, as: "")  // error: cannot convert value of type 'String'
  _ = Worker.all.leavingOut(\.prize, as: 0)  // error: has no member 'prize'
  _ = Worker.all.leavingOut(\.price, \.visit, as: 0)  // error: missing argument
  list[0].save()  // error: an excerpt lacks fields
}
