import type { UploadedPart } from "./bucket.js";

/** A file of the gateway's that is to be copied, once, for one user. */
export interface CopyJob {
  /** The file as `sourceOf` names it: there is one copy of each. */
  readonly source: string;
  /** Id that the copy gets. */
  readonly id: string;
  readonly userId: string;
  readonly url: string;
}

/** A file, from the moment in which its space is reserved. */
export interface FileRow {
  readonly id: string;
  /** The whole size. */
  readonly bytes: number;
  readonly type: string;
  /** Unix milliseconds at which the file is deleted. */
  readonly expiresAt: number;
  /** The bytes that are stored; the file is whole where they are `bytes` and `isWhole` is 1. */
  readonly received: number;
  readonly isWhole: 0 | 1;
  /** The multipart upload in R2. */
  readonly uploadId: string | null;
  /**
   * The number of the newest part. Each attempt has one of its own: a part that is sent twice at once would replace
   * the one whose etag is known.
   */
  readonly claimed: number;
  /** The parts that are stored, as JSON. */
  readonly parts: string;
  /** The address of a file of the gateway's that this is a copy of, as a hash. */
  readonly source: string | null;
}

/** A change or a read of an index. */
export type IndexRequest =
  | {
      readonly do: "open";
      readonly file: Pick<FileRow, "id" | "bytes" | "type" | "expiresAt"> & {
        readonly source?: string | undefined;
      };
      readonly mostBytes: number;
      readonly mostFiles: number;
      /** Counts the file and leaves it alone: another index deletes it. */
      readonly isCount?: true;
    }
  | {
      readonly do: "part";
      readonly id: string;
      readonly part: UploadedPart;
      readonly uploadId: string;
      readonly from: number;
      readonly to: number;
    }
  | { readonly do: "whole"; readonly id: string; readonly bytes: number }
  | { readonly do: "read" | "claim"; readonly id: string }
  | {
      readonly do: "drop";
      readonly id: string;
      /** True where the owner deletes the file: it is not copied again. */
      readonly isForGood?: boolean | undefined;
    }
  | { readonly do: "copy"; readonly jobs: readonly CopyJob[] }
  | { readonly do: "find"; readonly ids: readonly string[]; readonly sources: readonly string[] };

/** The answer of an index: the file after the request, or the reason for which there is none. */
export interface IndexAnswer {
  readonly file?: FileRow | undefined;
  /** The whole files that were found. */
  readonly files?: readonly FileRow[];
  /** Present where there is no space. */
  readonly full?: "bytes" | "files";
}
