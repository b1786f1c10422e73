"use client";

import { ChatApp } from "../chat/app";
import { modelNames } from "../server/models";

export default function Page() {
  return <ChatApp models={modelNames} />;
}
