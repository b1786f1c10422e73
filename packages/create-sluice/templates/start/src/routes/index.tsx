import { createFileRoute } from "@tanstack/react-router";
import { modelNames } from "../../server/models";
import { ChatApp } from "../chat/app";

export const Route = createFileRoute("/")({ component: Page });

function Page() {
  return <ChatApp models={modelNames} />;
}
