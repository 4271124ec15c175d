extension Shelf {
  package init(
    from decoder: any Decoder
  ) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    id = try values.decode(type(of: id), forKey: .id)
    title = try values.decode(String.self, forKey: .title)
    // Names from before the move.
    if title == "old_cellar" { title = "Cellar" }
  }
}
