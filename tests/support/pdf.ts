/** Options of {@link createPDF}. */
interface PDFOptions {
  /** Locks it with an unknown password. @default false */
  readonly isLocked?: boolean;
  /** Name of a Chinese, Japanese or Korean encoding of the pages' lines. @default Latin letters */
  readonly encoding?: string;
  /** Name and value of a field of a form, on the first page. @default no form */
  readonly field?: readonly [name: string, value: string];
  /** Gives the last page a drawing of ten drawings of ten, ten levels deep, with a page of text in each. @default false */
  readonly isEndless?: boolean;
}

/** Writes a PDF with these lines of text on its pages. A page without lines has a gray box, as a scan has its picture. */
export function createPDF(pages: readonly (readonly string[])[], options: PDFOptions = {}): Buffer {
  const { isLocked = false, isEndless = false, encoding, field } = options;
  const objects: string[] = [];
  const add = (object: string) => `${objects.push(object)} 0 R`;
  // the first two are known by their numbers
  objects.push("", "");
  const font = add(createFont(encoding));
  let drawing: string | undefined;
  for (let level = 0; isEndless && level < 10; level += 1) {
    const inside = drawing && ` /XObject << /X ${drawing} >>`;
    const resources = `/Resources << /Font << /F1 ${font} >>${inside ?? ""} >>`;
    const head = `/Type /XObject /Subtype /Form /BBox [0 0 595 842] ${resources}`;
    drawing = add(
      streamOf(
        inside ? "/X Do\n".repeat(10) : createContent(Array.from({ length: 50 }, () => "word ".repeat(18))),
        head,
      ),
    );
  }
  const widget = field && add(createField(...field));
  const kids = pages.map((lines, at) => {
    const isLast = at === pages.length - 1;
    const drawn = createContent(lines) + (drawing && isLast ? "\n/X Do" : "");
    const xObject = drawing && isLast ? ` /XObject << /X ${drawing} >>` : "";
    const fields = widget && at === 0 ? ` /Annots [${widget}]` : "";
    const resources = `/Resources << /Font << /F1 ${font} >>${xObject} >>`;
    const content = add(streamOf(drawn));
    return add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${content} ${resources}${fields} >>`,
    );
  });
  const form = widget ? ` /AcroForm << /Fields [${widget}] >>` : "";
  objects[0] = `<< /Type /Catalog /Pages 2 0 R${form} >>`;
  objects[1] = `<< /Type /Pages /Kids [${kids.join(" ")}] /Count ${pages.length} >>`;
  return writeObject(objects, isLocked ? ` /Encrypt ${LOCK} /ID [${padZeros(16)} ${padZeros(16)}]` : "");
}

function writeObject(objects: readonly string[], lock: string): Buffer {
  let text = "%PDF-1.7\n";
  const starts = objects.map((object, at) => {
    const start = text.length;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return start;
  });
  const table = starts.map((start) => `${String(start).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R${lock} >>\nstartxref\n${text.length}\n%%EOF\n`;
  return Buffer.from(`${text}xref\n0 ${size}\n0000000000 65535 f \n${table}${trailer}`, "latin1");
}

function streamOf(content: string, head = ""): string {
  return `<< ${head} /Length ${content.length} >>\nstream\n${content}\nendstream`;
}

function createField(name: string, value: string): string {
  return `<< /Type /Annot /Subtype /Widget /FT /Tx /Rect [50 700 200 720] /T (${name}) /V (${value}) /F 4 >>`;
}

const padZeros = (bytes: number) => `<${"00".repeat(bytes)}>`;
const LOCK = `<< /Filter /Standard /V 1 /R 2 /P -4 /O ${padZeros(32)} /U ${padZeros(32)} >>`;

function createContent(lines: readonly string[]): string {
  if (lines.length === 0) return "0.5 g 50 50 400 600 re f";
  const shown = lines.map((line) => `${toPDFString(line)} Tj T*`);
  return ["BT", "/F1 12 Tf", "14 TL", "50 780 Td", ...shown, "ET"].join("\n");
}

/** A string of a PDF: letters, or the code units of another script. */
function toPDFString(line: string): string {
  const units = Array.from({ length: line.length }, (_, at) => line.charCodeAt(at));
  if (units.some((unit) => unit > 255))
    return `<${units.map((unit) => unit.toString(16).padStart(4, "0")).join("")}>`;
  return `(${line.replace(/[\\()]/g, "\\$&")})`;
}

function createFont(encoding: string | undefined): string {
  if (encoding === undefined) return "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>";
  const info = "<< /Registry (Adobe) /Ordering (GB1) /Supplement 2 >>";
  const descendant = `<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /CIDSystemInfo ${info} /FontDescriptor << /Type /FontDescriptor /FontName /STSong-Light /Flags 4 >> >>`;
  return `<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /${encoding} /DescendantFonts [${descendant}] >>`;
}
