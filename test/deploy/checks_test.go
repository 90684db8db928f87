package deploy_test

import "fmt"

// check tells what is wrong with what is rendered, a line each.
type check func(*rendered) []string

// checks are all of them. Each looks at one thing only, so that one broken value
// makes one of them complain.
func checks() map[string]check {
	return map[string]check{
		"rules are the kinds handled":             checkRules,
		"paths are routes":                        checkPaths,
		"webhooks behave as they must":            checkBehaviour,
		"selectors reach the right namespaces":    checkSelectors,
		"match conditions":                        checkConditions,
		"names of webhooks and configurations":    checkNames,
		"arguments parse":                         checkArguments,
		"roles allow what is read, and no more":   checkRBAC,
		"DNS names are the Service's":             checkDNSNames,
		"certificates and Secrets fit together":   checkCertificates,
		"the CA outlives the certificates":        checkLifetimes,
		"ports and probes":                        checkPorts,
		"labels and selectors":                    checkLabels,
		"pod security":                            checkPodSecurity,
		"shutdown fits into the grace period":     checkShutdown,
		"replicas survive a node and a roll-out":  checkAvailability,
		"everything stands in its namespace":      checkNamespaces,
		"resources, the memory limit and quotas":  checkResources,
		"the account is Berth's and has a token":  checkAccount,
		"a network policy lets in what is served": checkNetworkPolicy,
	}
}

// problems gathers what a check finds.
type problems []string

// unless notes a problem unless something holds.
func (p *problems) unless(holds bool, format string, args ...any) {
	if !holds {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}
