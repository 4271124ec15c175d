import Larch

// A regular expression may hold closures of the program, so a rule takes it over altogether.

struct Person: Record {
  var id = RecordID<Person>()
  var name: String
}

func keptByTheCaller(_ regex: Regex<Substring>) -> Validate<Person> {
  Validate(\.name, .format(regex))  // error: sending 'regex' risks causing data races
}

func takenOver() -> Validate<Person> {
  Validate(\.name, .format(/a+/))
}
