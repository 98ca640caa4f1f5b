"""A small Kubernetes client: JSON over one kept-alive connection per thread."""

import contextlib
import http.client
import json
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

Object = dict[str, Any]

APPLY = "application/apply-patch+yaml"
TOO_MANY_REQUESTS, PATIENCE = 429, 60
EDIT = "application/json-patch+json"
MERGE = "application/merge-patch+json"


class KubeError(RuntimeError):
    """The API server's refusal."""

    def __init__(self, code: int, message: str):
        super().__init__(f"{code}: {message}")
        self.code = code


class Kube:
    """The API server as one bearer token sees it."""

    def __init__(self, url: str, token: str, authority: Path):
        self.url, self.token = url, token
        self._host = urlsplit(url).netloc
        self._context = ssl.create_default_context(cafile=str(authority))
        self._local = threading.local()
        self._connections: list[http.client.HTTPSConnection] = []
        self._resources: dict[tuple[str, str], tuple[str, bool]] = {}

    def request(self, method: str, path: str, body: object = None, *, content: str = "application/json") -> Any:
        """One request; JSON in, JSON out. Where the server asks to come again a little later, it does, for a while.

        Raises:
            KubeError: the server answered with an error status.
        """
        for _ in range(PATIENCE):
            status, raw = self._exchange(method, path, body, content)
            if status != TOO_MANY_REQUESTS:
                break
            time.sleep(0.5)
        if status >= 400:
            try:
                message = json.loads(raw)["message"]
            except (ValueError, KeyError, TypeError):
                message = raw.decode(errors="replace")
            raise KubeError(status, message)
        if not raw:
            return None
        return json.loads(raw) if raw[:1] in b"{[" else raw.decode()

    def _exchange(self, method: str, path: str, body: object, content: str) -> tuple[int, bytes]:
        """Status and body of an answer; a connection the server has dropped is opened anew once."""
        payload = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", "Content-Type": content}
        for last in (False, True):
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = http.client.HTTPSConnection(self._host, context=self._context, timeout=60)
                self._local.connection = connection
                self._connections.append(connection)
            try:
                connection.request(method, path, payload, headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                self._local.connection = None
                if last:
                    raise
        raise AssertionError("the second attempt answers or raises")

    def close(self) -> None:
        """Drop every thread's connection."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._local = threading.local()

    def ready(self) -> bool:
        """Whether the server says it is ready."""
        return bool(self.request("GET", "/readyz") == "ok")

    def kinds(self) -> list[tuple[str, str]]:
        """Every (apiVersion, kind) that can be listed, in the server's preferred versions."""
        versions = ["v1"] + [
            group["preferredVersion"]["groupVersion"] for group in self.request("GET", "/apis")["groups"]
        ]
        found = []
        for version in versions:
            base = "/api/v1" if version == "v1" else f"/apis/{version}"
            for resource in self.request("GET", base)["resources"]:
                if "/" not in resource["name"] and "list" in resource["verbs"]:
                    self._resources[(version, resource["kind"])] = (resource["name"], resource["namespaced"])
                    found.append((version, resource["kind"]))
        return found

    def path(self, version: str, kind: str, namespace: str | None = None, name: str | None = None) -> str:
        """The URL path of a kind's collection or of one object."""
        base = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        if (version, kind) not in self._resources:
            for resource in self.request("GET", base)["resources"]:
                if "/" not in resource["name"]:
                    self._resources[(version, resource["kind"])] = (resource["name"], resource["namespaced"])
        if (version, kind) not in self._resources:
            raise KubeError(404, f"the server has no kind {kind} in {version}")
        plural, namespaced = self._resources[(version, kind)]
        middle = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{base}{middle}/{plural}" + (f"/{name}" if name else "")

    def _own_path(self, obj: Object) -> str:
        metadata = obj["metadata"]
        return self.path(obj["apiVersion"], obj["kind"], metadata.get("namespace", "default"), metadata["name"])

    def list(self, version: str, kind: str, namespace: str | None = None, *, labels: str = "") -> list[Object]:
        """All objects of a kind; an unknown kind has none."""
        query = "?" + urlencode({"labelSelector": labels}) if labels else ""
        try:
            answer = self.request("GET", self.path(version, kind, namespace) + query)
        except KubeError as error:
            if error.code == 404:
                return []
            raise
        return [{"apiVersion": version, "kind": kind, **item} for item in answer["items"]]

    def get(self, version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """One object, or None."""
        try:
            found: Object = self.request("GET", self.path(version, kind, namespace, name))
        except KubeError as error:
            if error.code == 404:
                return None
            raise
        return found

    def apply(self, obj: Object, *, manager: str = "judges") -> Object:
        """Server-side apply with conflicts forced."""
        query = urlencode({"fieldManager": manager, "force": "true"})
        applied: Object = self.request("PATCH", f"{self._own_path(obj)}?{query}", obj, content=APPLY)
        return applied

    def create(self, obj: Object) -> Object:
        """Create an object."""
        namespace = obj["metadata"].get("namespace", "default")
        created: Object = self.request("POST", self.path(obj["apiVersion"], obj["kind"], namespace), obj)
        return created

    def patch(self, obj: Object, change: Object, *, status: bool = False) -> Object:
        """Merge a change into an object or its status."""
        path = self._own_path(obj) + ("/status" if status else "")
        patched: Object = self.request("PATCH", path, change, content=MERGE)
        return patched

    def edit(self, obj: Object, changes: Sequence[Object]) -> Object:
        """JSON patch: change exactly these places of an object."""
        edited: Object = self.request("PATCH", self._own_path(obj), changes, content=EDIT)
        return edited

    def delete(self, obj: Object) -> None:
        """Delete an object if it is there."""
        with _ignore_missing():
            self.request("DELETE", self._own_path(obj), {"propagationPolicy": "Background"})

    def apply_all(self, objects: Iterable[Object]) -> None:
        """Apply in the order given."""
        for obj in objects:
            self.apply(obj)


@contextlib.contextmanager
def _ignore_missing() -> Iterator[None]:
    try:
        yield
    except KubeError as error:
        if error.code != 404:
            raise
