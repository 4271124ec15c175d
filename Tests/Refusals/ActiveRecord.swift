// Where `save()` needs `await`, where it cannot be, and what a record must be for it.

import Larch

struct Person: Record {
  var id = RecordID<Person>()
  var name: String
}

func synchronous() throws {
  let ada = Person(name: "Ada")
  try ada.save()  // error: cannot use mutating member on immutable value: 'ada' is a 'let' constant
  let saved = try ada.saved()
  try saved.delete()
  try Store.transaction { try Person.erase() }
  try Store.transaction { try await Person.erase() }  // error: cannot pass function of type
}

func asynchronous() async throws {
  var ada = Person(name: "Ada")
  try ada.save()  // error: expression is 'async' but is not marked with 'await'
  try await ada.save()
  try Person.all.delete()  // error: expression is 'async' but is not marked with 'await'
  // Reading does not wait for the disk to be flushed.
  let people = try Person.all.fetch()
  try await Store.transaction {
    // In here all are the synchronous ones.
    for var person in people { try person.save() }
    try Person.all.delete()
  }
  var count = 0
  try await Store.transaction { count += 1 }  // error: mutation of captured var 'count'
  try blocking(&count)
}

func blocking(_ count: inout Int) throws {
  try Store.transaction { count = try Person.all.count() }
}

actor Desk {
  var person = Person(name: "Ada")

  func save() async throws {
    try await person.save()  // error: actor-isolated property 'person' cannot be passed 'inout'
    person = try await person.saved()
  }
}
