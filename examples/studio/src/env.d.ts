interface ImportMetaEnv {
  /** Address of the gateway's proxy, where it is not the server of this page. */
  readonly VITE_GATEWAY?: string;
}
