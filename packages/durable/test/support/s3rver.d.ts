/* The parts of s3rver that are used: it has no types. */

declare module "@20minutes/s3rver" {
  const S3rver: new (options: object) => import("./s3-server.js").Server;
  export default S3rver;
}

declare module "@20minutes/s3rver/lib/models/error" {
  const S3Error: new (code: string, text: string) => Error;
  export default S3Error;
}
