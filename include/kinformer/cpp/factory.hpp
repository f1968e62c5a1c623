/* cpp/factory.hpp: the factory of informers. kinformer.hpp has the contract. */
#ifndef KINFORMER_CPP_FACTORY_HPP
#define KINFORMER_CPP_FACTORY_HPP

#include <kinformer/cpp/informer.hpp>

namespace kinformer {

class factory {
public:
    /* Makes a factory with the default configuration: in-cluster, else the kubeconfig's. */
    explicit factory(const ki_factory_options &options = KI_FACTORY_OPTIONS(), exception_handler on_exception = {})
        : state_(new detail::state(std::move(on_exception), options.log)) {
        call(ki_factory_new_default, &options, &state_->factory);
    }
    explicit factory(const owner<ki_config> &config, const ki_factory_options &options = KI_FACTORY_OPTIONS(),
                     exception_handler on_exception = {})
        : state_(new detail::state(std::move(on_exception), options.log)) {
        call(ki_factory_new, config.get(), &options, &state_->factory);
    }
    ki_factory *get() const noexcept { return state_->factory; }
    /* Returns the factory's client. Ownership: borrowed from the factory. */
    ki_client *client() const noexcept { return ki_factory_client(get()); }

    /* Returns the informer of a resource, of KI_PODS or by its name; with informer<pod>(…) it has the view pod. */
    template <class View = void>
    kinformer::informer informer(const ki_resource *resource,
                                 const ki_informer_options &options = KI_INFORMER_OPTIONS()) const {
        return informer_of<View>(ki_factory_informer, resource, options);
    }
    template <class View = void>
    kinformer::informer informer(const char *resource_name,
                                 const ki_informer_options &options = KI_INFORMER_OPTIONS()) const {
        return informer_of<View>(ki_factory_informer_by_name, resource_name, options);
    }

    void start() const { call(ki_factory_start, get()); }
    /* Runs until stop(), SIGINT or SIGTERM. */
    void run() const { call(ki_factory_run, get()); }
    void stop() const noexcept { ki_factory_stop(get()); }
    void shutdown() const { call(ki_factory_shutdown, get()); }
    void wait_for_sync(milliseconds timeout = forever) const {
        call(ki_factory_wait_for_sync, get(), timeout.count(), nullptr);
    }
    std::string metrics_text() const {
        char *text = nullptr;
        call(ki_factory_metrics_text, get(), &text);
        const std::unique_ptr<char, void (*)(char *)> owned(text, ki_metrics_text_free);
        return text;
    }

private:
    friend class controller;
    template <class View, class Name, class Get>
    kinformer::informer informer_of(Get function, Name *name, ki_informer_options options) const {
        if constexpr (!std::is_void_v<View>)
            options.view = View::fields();
        ki_informer *found = nullptr;
        call(function, get(), name, &options, &found);
        return kinformer::informer(found, state_.get());
    }
    std::unique_ptr<detail::state, detail::close_state> state_;
};

} // namespace kinformer

#endif
