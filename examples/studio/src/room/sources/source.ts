/** Something that a request takes along: a link, or a file as a data URI. */
export interface Source {
  readonly name: string;
  readonly url: string;
  /** What `url` was made of. */
  readonly file?: File;
}
