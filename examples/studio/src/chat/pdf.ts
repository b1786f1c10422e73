import {
  getDocument,
  type PDFDocumentProxy,
  type PDFPageProxy,
  PDFWorker,
} from "pdfjs-dist/legacy/build/pdf.mjs";
import type { TextContent } from "pdfjs-dist/types/src/display/api.js";

/*
 * The text of a PDF, which PDF.js reads in a worker. This file is loaded with the first PDF: with the worker it is half a
 * megabyte, compressed.
 */

/** Text of a PDF. */
export interface PDFText {
  readonly text: string;
  /** Number of pages. */
  readonly pages: number;
  /** Number of pages that have text; the others are pictures. */
  readonly pagesWithText: number;
}

/**
 * Reason that a PDF has no text for a message. `scanned`: all pages are pictures. `unloaded`: a part of the reader could
 * not be loaded.
 */
export type PDFProblem = "locked" | "scanned" | "broken" | "long" | "unloaded";

interface ReadOptions {
  /** Largest text, in bytes of UTF-8. */
  readonly mostBytes: number;
  /** Ends the reading, which then rejects with its reason. */
  readonly signal: AbortSignal;
  /** Called before each page, with its number and that of all. */
  readonly onPage: (page: number, pages: number) => void;
}

/** Reads the text of a PDF. The worker ends with it, also where the file keeps it busy for ever. */
export async function readPDF(file: Blob, options: ReadOptions): Promise<PDFText | PDFProblem> {
  const { signal } = options;
  const worker = new Worker(new URL("pdfjs-dist/legacy/build/pdf.worker.mjs", import.meta.url), {
    type: "module",
  });
  const ended = new Promise<"unloaded">((resolve, reject) => {
    worker.onerror = () => resolve("unloaded");
    signal.addEventListener("abort", () => reject(signal.reason));
  });
  try {
    return await Promise.race([ended, readWith(worker, file, options)]);
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof Error && error.name === "PasswordException" ? "locked" : "broken";
  } finally {
    worker.terminate();
  }
}

async function readWith(port: Worker, file: Blob, options: ReadOptions): Promise<PDFText | PDFProblem> {
  let isLacking = false;
  const { promise } = getDocument({
    data: await file.arrayBuffer(),
    worker: PDFWorker.create({ port }),
    // the library makes it by `new`
    BinaryDataFactory: class {
      async fetch({ kind, filename }: { readonly kind: string; readonly filename: string }) {
        try {
          return await loadEncoding(filename);
        } catch (error) {
          // without an encoding the library leaves text out; fonts and decoders of pictures are not needed
          isLacking ||= kind === "cMapUrl";
          throw error;
        }
      }
    },
    // nothing is drawn
    disableWorkerRendering: true,
    verbosity: 0,
  });
  const result = await textOf(await promise, options);
  return isLacking ? "unloaded" : result;
}

async function textOf(
  pdf: PDFDocumentProxy,
  { mostBytes, onPage }: ReadOptions,
): Promise<PDFText | PDFProblem> {
  const { numPages: pages } = pdf;
  const texts: string[] = [];
  let left = mostBytes;
  for (let number = 1; number <= pages; number += 1) {
    onPage(number, pages);
    const text = await textOfPage(await pdf.getPage(number), left);
    left -= new Blob([text]).size;
    if (left < 0) return "long";
    if (text !== "") texts.push(pages > 1 ? `Page ${number}:\n${text}` : text);
  }
  return texts.length === 0 ? "scanned" : { text: texts.join("\n\n"), pages, pagesWithText: texts.length };
}

/** Text of a page in the order of the file, with what was written into its form; not much more than `most` characters. */
async function textOfPage(page: PDFPageProxy, most: number): Promise<string> {
  let text = "";
  const reader = page.streamTextContent().getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const { items }: TextContent = part.value;
    for (const item of items) if ("str" in item) text += item.str + (item.hasEOL ? "\n" : "");
    // a small file may draw its text without an end
    if (text.length > most) return text;
  }
  for (const { fieldName, fieldValue } of await page.getAnnotations())
    if (typeof fieldValue === "string" && fieldValue !== "") text += `\n${fieldName}: ${fieldValue}`;
  page.cleanup();
  return text.replaceAll("\0", "").trim();
}

/** Addresses of the encodings that a PDF may name (ISO 32000, 9.7.5.2): old Chinese, Japanese and Korean files do. */
const encodings = import.meta.glob<string>(
  [
    "../../node_modules/pdfjs-dist/cmaps/{GB,GBpc,GBK,GBKp,CNS,KSC,KSCpc}-EUC-*.bcmap",
    "../../node_modules/pdfjs-dist/cmaps/{Uni*,Adobe-*}-{UCS2,UTF16}*.bcmap",
    "../../node_modules/pdfjs-dist/cmaps/{HKscs,ETen,ETenms}-B5-*.bcmap",
    "../../node_modules/pdfjs-dist/cmaps/{B5pc,EUC,GBK2K,KSCms-UHC,KSCms-UHC-HW}-*.bcmap",
    "../../node_modules/pdfjs-dist/cmaps/{H,V,*-RKSJ-*}.bcmap",
  ],
  { query: "?url", import: "default", eager: true },
);

async function loadEncoding(fileName: string): Promise<Uint8Array> {
  const url = Object.entries(encodings).find(([path]) => path.endsWith(`/${fileName}`))?.[1];
  if (url === undefined) throw new Error(`no encoding has the name ${fileName}`);
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${fileName}: status ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}
