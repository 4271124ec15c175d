/// The words that records are made of; part of the workload's definition, so their order is fixed.
enum Vocabulary {
  static let firstNames = words(
    """
    James Mary John Linda Robert Sarah David Emma Maria Peter Laura Thomas Julia Daniel Sofia
    Mark Elena Paul Lucy Simon Anna Kevin Nina Brian Alice Jason Clara Eric Diana Oscar Irene
    Adam Helen Henry Rosa Felix Grace Ivan Nora Leon Olivia Carlos Ruth Hugo Vera Martin Eva
    Noah Jane Otto Anne Karl Lena Ali Mia Yusuf Chen Priya Akira Fatima Bjorn Chloe Zoe Ximena
    """)
  static let lastNames = words(
    """
    Smith Jones Brown Miller Garcia Muller Davis Martin Lopez Wilson Schmidt Taylor Moore
    Jackson White Lee Harris Clark Lewis Young Walker Hall Allen King Wright Scott Green Baker
    Adams Nelson Hill Ramirez Campbell Mitchell Roberts Carter Phillips Evans Turner Torres
    Parker Collins Edwards Stewart Flores Morris Nguyen Murphy Rivera Cook Rogers Morgan
    Peterson Cooper Reed Bailey Bell Gomez Kelly Howard Ward Cox Diaz Wood Watson Brooks
    Bennett Gray James Reyes Cruz Hughes Price Myers Long Foster Sanders Ross Morales Powell
    Sullivan Russell Ortiz Jenkins Perry Butler Barnes Fisher Weber Meyer Wagner Becker Schulz
    Hoffmann Koch Bauer Richter Klein Wolf Neumann Rossi Russo Ferrari Bianchi Romano Ricci
    Dubois Moreau Laurent Lefevre Roux Fournier Silva Santos Costa Pereira Tanaka Sato Suzuki
    Kim Park Choi Wang Zhang Kumar Singh Patel Khan
    """)
  static let domains = words("mail.com web.de acme.org post.net inbox.io home.uk corp.com uni.edu")
  static let cities: [String] = {
    let starts = words("Ash Bel Cor Dun Elm Fair Glen Har Kings Lake")
    let middles = words("bur den ham la mar ner ro sel ver wick")
    let ends = words("ton ford field port bridge ville mouth stead dale by")
    return (0..<1000).map { starts[$0 % 10] + middles[$0 / 10 % 10] + ends[$0 / 100] }
  }()

  private static func words(_ text: String) -> [String] {
    text.split(whereSeparator: \.isWhitespace).map(String.init)
  }
}
