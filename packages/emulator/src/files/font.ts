import { hash } from "../server/hash.js";

/** A letter is 7 rows of 5 dots; a row is a number of which the highest of 5 bits is its left dot. */
export type Glyph = readonly number[];

export const GLYPH_WIDTH = 5;
export const GLYPH_HEIGHT = 7;

// one word for each sign from space to ~, one base-32 digit for each row: "ehhvhhh" is an A
const SIGNS = `
0000000 4444404 aa00000 aavavaa 4fke5u4 op248j3 cik8lid 4480000 2488842 8422248 04lel40 044v440 0000c48 000v000
00000cc 01248g0 ehjlphe 4c4444e eh1248v v2421he 26aiv22 vgu11he 68guhhe v124888 ehhehhe ehhf12c 0cc0cc0 0cc0c48
248g842 00v0v00 8421248 eh12404 eh1dlle ehhvhhh uhhuhhu ehggghe uhhhhhu vgguggv vgguggg ehgnhhf hhhvhhh e44444e
72222ic hikokih ggggggv hrllhhh hhpljhh ehhhhhe uhhuggg ehhhlid uhhukih fgge11u v444444 hhhhhhe hhhhha4 hhhllla
hha4ahh hhha444 v1248gv e88888e 0g84210 e22222e 4ah0000 000000v 8420000 00e1fhf ggmphhu 00egghe 11djhhf 00ehvge
698s888 0fhhf1e ggmphhh 40c444e 20622ic ggikoki c44444e 00qllhh 00mphhh 00ehhhe 00uhugg 00djf11 00mpggg 00ege1u
88s8896 00hhhjd 00hhha4 00hhlla 00ha4ah 00hhf1e 00v248v 2448442 4444444 8442448 008l200`;

const glyphs = SIGNS.trim()
  .split(/\s+/)
  .map((rows) => [...rows].map((digit) => Number.parseInt(digit, 32)));

const plainer: Readonly<Record<string, string>> = {
  "‘": "'",
  "’": "'",
  "“": '"',
  "”": '"',
  "–": "-",
  "—": "-",
};

/** Returns the characters to draw: without accents, and with one space for white space. */
export function drawable(text: string): string[] {
  const plain = text.normalize("NFD").replace(/\p{M}|\p{Cf}/gu, "");
  return [...plain.replace(/[\s\p{Cc}]+/gu, " ").trim()].map((sign) => plainer[sign] ?? sign);
}

/** Returns the dots of a character. One beyond ASCII is a symmetric ornament that depends on the character alone. */
export function glyphOf(sign: string): Glyph {
  const found = glyphs[(sign.codePointAt(0) ?? 0) - 32];
  return found && sign.length === 1 ? found : ornament(sign);
}

function ornament(sign: string): Glyph {
  const bits = Number.parseInt(hash(sign).slice(0, 8), 16);
  return Array.from({ length: GLYPH_HEIGHT }, (_, row) => {
    const half = (bits >>> (row * 3)) & 0b111;
    // the left half and the middle, then the left half again from the right
    return (half << 2) | (half & 0b010) | (half >> 2);
  });
}
