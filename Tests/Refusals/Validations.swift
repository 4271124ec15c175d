import Larch

struct Person: Record {
  var id = RecordID<Person>()
  var name = ""
  var age = 0
  var email: String?

  // The right way is open.
  static let schema = Schema<Person> {
    Validate(\.name, .presence, .length(1...40))
    Validate(\.age, .range(0...150))
  }
}

let lengthOfANumber = Validate<Person>(
  \.age, .length(1...40))  // error: requires that 'Int' conform to 'LengthField'
let presenceOfANumber = Validate<Person>(
  \.age, .presence)  // error: requires that 'Int' conform to 'PresenceField'
let formatOfANumber = Validate<Person>(
  \.age, .format(/a/))  // error: requires that 'Int' conform to 'TextValue'
let rangeOfAnotherType = Validate<Person>(
  \.name, .range(1...2))  // error: the range is not of the type of the field
let listOfAnotherType = Validate<Person>(
  \.name, .inclusion([1, 2]))  // error: the values are not of the type of the field
let caseOfANumber = Validate<Person>(
  \.age, .uniqueness(options: .caseInsensitive))  // error: only texts can be compared without case
