// The Kubernetes provider of Pulumi as a plugin. Upstream's own command embeds files that its release
// process generates; Python programs carry their own types, so an empty schema serves them as well.
package main

import (
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

func main() {
	provider.Serve("kubernetes", version.Version, []byte(`{"name":"kubernetes","resources":{}}`), []byte(`{}`))
}
