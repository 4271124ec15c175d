/// A resource: what a program would write for its user.
struct Template: Codable {
  var name = ""
}
