import Larch

// A regular expression may hold closures of the program, so a query takes it over altogether.

struct Person: Record {
  var id = RecordID<Person>()
  var name: String
}

func keptByTheCaller(_ regex: Regex<Substring>) -> Query<Person> {
  Person.where { $0.name.contains(regex) }  // error: sending 'regex' risks causing data races
}

func takenOver() -> Query<Person> {
  Person.where { $0.name.contains(/a+/) }
}
