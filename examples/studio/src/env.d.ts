interface ImportMetaEnv {
  /** The gateway's proxy, where it is not the server that this page came from. */
  readonly VITE_GATEWAY?: string;
}
